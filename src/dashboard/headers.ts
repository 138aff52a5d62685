/** The headers of every answer of the dashboard, its refusals among them. */
import type { ServerResponse } from 'node:http'
import { setAll } from '../page-views/answers.js'

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
}

/** Sets them, with how long the answer may be kept. They take the place of the site's own. */
export function setHeaders(
  res: ServerResponse,
  cacheControl: 'no-store' | 'private, no-cache' | 'private, max-age=31536000, immutable',
): void {
  setAll(res, { ...HEADERS, 'Cache-Control': cacheControl })
}
