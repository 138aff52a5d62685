/** Sends the answers of the dashboard. */
import type { ServerResponse } from 'node:http'
import {
  JSON_TYPE,
  sendJson,
  sendTagged,
  sendText,
  sendUnavailable,
  type Tagged,
  tagged,
} from '../page-views/answers.js'
import { type Received, targetOf } from '../page-views/handler.js'
import { setHeaders } from './headers.js'

/** Sends a CSV file; `null`: there is none at the moment. */
export function sendFile(res: ServerResponse, fileName: string, text: string | null): void {
  if (text === null) return sendFigures(res, null)
  if (res.headersSent) return
  setHeaders(res, 'no-store')
  res.setHeader('Content-Disposition', `attachment; filename="${fileName}"`)
  res.setHeader('Content-Type', 'text/csv; charset=utf-8')
  res.statusCode = 200
  res.end(text)
}

/**
 * Redirects the mount path to itself with a slash, because the page names its files relatively. The
 * target is relative, too: a proxy may have taken a part of the path away.
 */
export function redirected(req: Received, res: ServerResponse): boolean {
  const [path = '', query] = targetOf(req).split(/\?(.*)/s)
  if (path.endsWith('/')) return false
  setHeaders(res, 'no-store')
  const last = path.slice(path.lastIndexOf('/') + 1)
  const target = `./${last}/${query === undefined ? '' : `?${query}`}`
  // A client may have sent characters that a header cannot hold.
  res.setHeader('Location', target.replace(/[^!-~]/g, encodeURIComponent))
  sendText(res, 'text/plain; charset=utf-8', 'The page is at the path with a slash.', 302)
  return true
}

export function refuse(res: ServerResponse, path: string, page: Tagged): void {
  setHeaders(res, 'no-store')
  if (path === '/') sendText(res, page.type, page.body, 403)
  else sendJson(res, { error: 'This request may not see the dashboard' }, 403)
}

/** Sends 304 to a client that has the same already, as of a range that is over. */
export function sendPanel(res: ServerResponse, value: unknown): void {
  if (res.headersSent) return
  setHeaders(res, 'private, no-cache')
  sendTagged(res, tagged(JSON.stringify(value), JSON_TYPE))
}

/**
 * The same with all tables as names of columns and cells, which are half as long.
 * `assets/packed.js` reads them.
 */
export function packed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, packed(one)]))
  }
  const [first] = value as unknown[]
  if (typeof first !== 'object' || first === null) return value
  const columns = [...new Set(value.flatMap(Object.keys))]
  const rows = value.map((row) => {
    const cells = columns.map((column) => packed(row[column]))
    return cells.slice(0, cells.findLastIndex((cell) => cell !== undefined) + 1)
  })
  return { columns, rows }
}

export function sendFigures(res: ServerResponse, value: unknown): void {
  if (value !== null) return sendPanel(res, value)
  if (res.headersSent) return
  setHeaders(res, 'no-store')
  sendUnavailable(res, 'There are no figures at the moment')
}
