/**
 * Reads a report of `seen.js`: `{ page, referrer }` in JSON, from a page of the site itself.
 * Anything else is refused, by its headers, if they show it, before a byte of it is read.
 *
 * A report holds what a request for the page would hold, so a forged one can do what a forged
 * request can do, and no more.
 */
import type { IncomingMessage } from 'node:http'
import type { Received } from '../page-views/handler.js'
import { type Host, hostOf } from '../page-views/host.js'
import { printable } from '../support/printable.js'

/** A view of a page, as a browser reports it. */
export interface SeenReport {
  /** Path and query of the page, as a request would ask for it. */
  readonly page: string
  /** The address that led to the page; empty: none. */
  readonly referrer: string
}

/** Bytes of a report. */
export const MAX_REPORT_BYTES = 4096

/** A report that does not count. The message says to the sender what is wrong. */
export class ReportRefused extends Error {
  override readonly name = 'ReportRefused'
  /** Status of the answer. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Characters of a path and a query in a request, and of an address that a browser knows. */
const TARGET = /^\/[!-~]*$/
const ADDRESS = /^[!-~]*$/

/**
 * Reads the report that `req` brings, or takes what `express.json()` or `express.text()` has read.
 * Rejects with what the connection throws, too.
 *
 * @throws ReportRefused
 */
export async function seenReport(req: Received & { body?: unknown }): Promise<SeenReport> {
  checkHeaders(req)
  // Where nothing was read, `body` may be the `{}` of a parser that does not know the type.
  return reportOf(req.readableDidRead ? req.body : await bodyOf(req))
}

/** @throws ReportRefused */
export function checkHeaders(req: Received): void {
  checkOrigin(req)
  if (Number(req.headers['content-length']) > MAX_REPORT_BYTES) throw tooLarge()
}

/**
 * Browsers say in a header that no script can set whether a page of the same site asks. Where they
 * do not, without HTTPS and before 2023, they say the site of the page. Its host is compared with
 * the one that the client asked for, and its port if both say one: a proxy may leave it out.
 */
function checkOrigin(req: Received): void {
  const { headers } = req
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return
  if (site === undefined && isSameHost(hostOfOrigin(headers.origin), hostOf(req))) return
  throw new ReportRefused(403, 'A report comes from a page of the same site')
}

function isSameHost(page: Host | undefined, asked: Host | undefined): boolean {
  if (page === undefined || page.name !== asked?.name) return false
  return page.port === undefined || asked.port === undefined || page.port === asked.port
}

/** The host of an origin; `undefined` where there is none, as in the origin `null`. */
function hostOfOrigin(origin: string | undefined): Host | undefined {
  if (origin === undefined || !URL.canParse(origin)) return undefined
  const { hostname, port } = new URL(origin)
  return { name: hostname, port: port || undefined }
}

/** Characters of an origin in a log line; a name in the DNS has at most 253. */
const MAX_ORIGIN = 300

/** Says whose page sends a report, and for which host, for a log line. */
export function whoReports(req: Received): { readonly page: string; readonly asked: string } {
  const { name = 'an unknown host', port } = hostOf(req) ?? {}
  const said = (text: string): string => printable(text.slice(0, MAX_ORIGIN))
  return {
    page: said(req.headers.origin ?? 'an unknown site'),
    asked: said(port === undefined ? name : `${name}:${port}`),
  }
}

function bodyOf(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    req.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      // The rest is read and forgotten until the answer ends the connection.
      if (bytes > MAX_REPORT_BYTES) reject(tooLarge())
      else chunks.push(chunk)
    })
    req.on('end', () => resolve(Buffer.concat(chunks)))
    req.on('error', reject)
  })
}

/** Returns the report that a body has, read or parsed. @throws ReportRefused */
export function reportOf(body: unknown): SeenReport {
  const isText = typeof body === 'string' || Buffer.isBuffer(body)
  const report = isText ? parsed(body) : body
  if (typeof report !== 'object' || report === null) throw noReport()
  const { page, referrer = '' } = report as { page?: unknown; referrer?: unknown }
  if (typeof page !== 'string' || typeof referrer !== 'string') throw noReport()
  if (page.length + referrer.length > MAX_REPORT_BYTES) throw tooLarge()
  if (!TARGET.test(page)) {
    throw new ReportRefused(400, '"page" is a path and a query, as in "/news?page=2"')
  }
  if (!ADDRESS.test(referrer)) {
    throw new ReportRefused(400, '"referrer" is an address, as in "https://example.com/", or empty')
  }
  return { page, referrer }
}

function parsed(text: string | Buffer): unknown {
  if (text.length > MAX_REPORT_BYTES) throw tooLarge()
  try {
    return JSON.parse(String(text))
  } catch {
    throw noReport()
  }
}

function noReport(): ReportRefused {
  return new ReportRefused(400, 'A report is JSON, as in {"page":"/","referrer":""}')
}

function tooLarge(): ReportRefused {
  return new ReportRefused(413, `A report has at most ${MAX_REPORT_BYTES} bytes`)
}
