/** Answers of the routers. None writes where a timeout of the site's own has answered meanwhile. */
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'

/** Seconds after which it is worth asking again where there is no answer. */
const RETRY_AFTER = 5

/** Something to send, and its ETag. */
export interface Tagged {
  readonly body: string
  /** Its media type. */
  readonly type: string
  readonly tag: string
}

export const JSON_TYPE = 'application/json; charset=utf-8'

export type Headers = Readonly<Record<string, string>>

export function tagged(body: string, type: string): Tagged {
  const hash = createHash('sha256').update(body).digest('base64url')
  return { body, type, tag: `"${hash.slice(0, 22)}"` }
}

/** Answers 200, or 304 to a client that has the same already. */
export function sendTagged(res: ServerResponse, answer: Tagged, headers: Headers = {}): void {
  if (res.headersSent) return
  setAll(res, { 'X-Content-Type-Options': 'nosniff', ...headers, ETag: answer.tag })
  if (!hasTag(res.req.headers['if-none-match'], answer.tag)) {
    return sendText(res, answer.type, answer.body)
  }
  res.statusCode = 304
  res.end()
}

/** Answers 503. */
export function sendUnavailable(res: ServerResponse, error: string): void {
  if (res.headersSent) return
  setAll(res, { 'Cache-Control': 'no-store', 'Retry-After': String(RETRY_AFTER) })
  sendJson(res, { error }, 503)
}

export function sendJson(res: ServerResponse, value: unknown, status = 200): void {
  if (res.headersSent) return
  sendText(res, JSON_TYPE, JSON.stringify(value), status)
}

/** The status is always set: some frameworks begin with 404. */
export function sendText(res: ServerResponse, type: string, body: string, status = 200): void {
  if (res.headersSent) return
  res.statusCode = status
  setAll(res, { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(body)) })
  res.end(body)
}

export function setAll(res: ServerResponse, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
}

/** Whether `If-None-Match` names the tag, or all. A proxy that compresses makes tags weak. */
function hasTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((one) => {
    const named = one.trim()
    return named === '*' || named === tag || named === `W/${tag}`
  })
}
