/** Answers of the routers. None writes where a timeout of the site's own has answered meanwhile. */
import { createHash } from 'node:crypto'
import type { Response } from './express.js'

/** Seconds after which it is worth asking again where there is no answer. */
const RETRY_AFTER = 5

/** Something to send, and its ETag. */
export interface Tagged {
  readonly body: string
  /** Its media type. */
  readonly type: string
  readonly tag: string
}

export function tagged(body: string, type: string): Tagged {
  const hash = createHash('sha256').update(body).digest('base64url')
  return { body, type, tag: `"${hash.slice(0, 22)}"` }
}

/** Express answers 304 by the ETag set here; its own may be switched off. */
export function sendTagged(
  res: Response,
  { body, type, tag }: Tagged,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (res.headersSent) return
  res.set({ 'X-Content-Type-Options': 'nosniff', ...headers, ETag: tag })
  res.type(type).send(body)
}

/** Answers 503. */
export function sendUnavailable(res: Response, error: string): void {
  if (res.headersSent) return
  res.set({ 'Cache-Control': 'no-store', 'Retry-After': String(RETRY_AFTER) })
  res.status(503).json({ error })
}
