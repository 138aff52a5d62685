/** Requests, and what handles them: those of Node's servers, which every framework on it takes. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { fieldOf } from '../visitors/guard.js'

/** Hands a request on: to the next handler, or with an error to the site's error handler. */
export type Next = (error?: Error) => void

/** A request of `node:http` or `node:http2`. */
export type ServerRequest = IncomingMessage | Http2ServerRequest

/** A response of `node:http` or `node:http2`. */
export type ServerAnswer = ServerResponse | Http2ServerResponse

/** Handles a request: for `app.use()` of Express, and for any other server on Node. */
export type Handler = (req: ServerRequest, res: ServerAnswer, next?: Next) => void

/**
 * A request, with what frameworks add to it. Those of HTTP/2 are typed as of HTTP/1: they have all
 * that is used here.
 */
export type Received = IncomingMessage & {
  /** The target that the client has asked for, where a framework rewrites `url`. */
  readonly originalUrl?: string | undefined
  /** The address of the client. */
  readonly ip?: string | undefined
  /** The host that the client has asked for. */
  readonly hostname?: string | undefined
  /** The application, in Express. */
  readonly app?: { get(setting: string): unknown } | undefined
}

/** Whether an argument is a request, and not an object of fields. Never throws. */
export function isRequest(argument: unknown): argument is ServerRequest {
  if (typeof argument !== 'object') return false
  const headers = fieldOf(argument, 'headers')
  return typeof headers === 'object' && headers !== null
}

/** The target that the client has asked for, with its query. */
export function targetOf(req: Received): string {
  return req.originalUrl ?? req.url ?? '/'
}
