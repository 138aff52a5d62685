/** `POST /seen`: takes reports of `seen.js`. */
import type { ServerResponse } from 'node:http'
import type { BurstLogger } from '../support/logger.js'
import { sendJson } from '../page-views/answers.js'
import type { Received } from '../page-views/handler.js'
import { type Report, reported } from '../page-views/reports.js'
import { targetBelow } from '../page-views/path.js'
import { peerOf, rememberPeer } from '../page-views/peer.js'
import type { Answer } from '../page-views/router.js'
import { ReportRefused, type SeenReport, seenReport, whoReports } from './seen-report.js'

/** Answers 204 to a report, and counts it then; a refusal says what is wrong. */
export function seenRoute(count: Report, publicPath: string, logger: BurstLogger): Answer {
  return async (req, res) => {
    // The client may have gone when the report has been read.
    rememberPeer(req)
    let report: SeenReport
    try {
      report = await seenReport(req)
    } catch (error) {
      // Otherwise the sender has gone.
      if (!(error instanceof ReportRefused)) return
      if (error.status === 403) warnOfRefusal(req, logger)
      return refuse(res, error)
    }
    // A timeout of the site's own may have answered.
    if (!res.headersSent) res.writeHead(204).end()
    const view = requestOf(report, req, publicPath)
    count(view, res)
    reported(req, view, res)
  }
}

function warnOfRefusal(req: Received, logger: BurstLogger): void {
  const { page, asked } = whoReports(req)
  logger.warn(
    'report refused',
    `wide-cache: a report of a seen page is refused with 403: it comes from a page of ${page}, ` +
      `and the request is for ${asked}; if both are this site, have the proxy send on Host, or ` +
      'X-Forwarded-Host, which Express reads with "trust proxy" (docs/seen.md)',
  )
}

function refuse(res: ServerResponse, { status, message }: ReportRefused): void {
  // What follows of a body that is too large is not waited for.
  if (status === 413 && !res.headersSent && res.req.httpVersionMajor === 1) {
    res.setHeader('Connection', 'close')
  }
  sendJson(res, { error: message }, status)
}

/**
 * The request that would have asked for the page, as the site's own functions know requests: its
 * address and `Referer` are those of the report, and all else is that of `req`.
 */
export function requestOf(
  { page, referrer }: SeenReport,
  req: Received,
  publicPath: string,
): Received {
  const { referer: _, ...headers } = req.headers
  // A page of another path may have the script, too.
  const below = targetBelow(publicPath, page)
  const fields = {
    method: 'GET',
    url: below ?? page,
    originalUrl: below === undefined ? page : publicPath + below,
    baseUrl: below === undefined ? '' : publicPath,
    params: {},
    headers: referrer === '' ? headers : { ...headers, referer: referrer },
    body: undefined,
    // Express 5 reads it from the address when it is asked, Express 4 beforehand.
    ...(Object.hasOwn(req, 'query') && { query: queryOf(page, req) }),
  }
  const view: Received = Object.create(req, Object.getOwnPropertyDescriptors(fields))
  rememberPeer(view, peerOf(req))
  return view
}

function queryOf(page: string, { app }: Received): unknown {
  const parse = app?.get('query parser fn')
  const at = page.indexOf('?')
  return typeof parse === 'function' && at !== -1 ? parse(page.slice(at + 1)) : {}
}
