/** Routes of the package: a few exact paths on `node:http`, whatever framework the site has. */
import { wrongType, wrongValue } from '../support/options.js'
import { sendJson } from './answers.js'
import type { Handler, Next, Received } from './handler.js'
import { pathOf, targetBelow } from './path.js'
import type { ServerResponse } from 'node:http'

/** Answers a request. What it throws, or rejects with, goes to the site's error handler. */
export type Answer = (req: Received, res: ServerResponse, next: Next) => void | Promise<void>

/** The answers of a path, by the method of the request. `HEAD` is answered as `GET`. */
export interface Route {
  readonly GET?: Answer
  readonly POST?: Answer
}

/** Answers the paths of `routes`, and other methods than theirs with 405. */
export function router(mountPath: string, routes: ReadonlyMap<string, Route>): Handler {
  return below(mountPath, (path, method) => {
    const route = routes.get(path)
    if (!route) return undefined
    return (method === 'GET' || method === 'POST' ? route[method] : undefined) ?? refusal(route)
  })
}

/**
 * Answers the requests that `find` has an answer for. Others go on to the site's next handler;
 * where there is none, they get 404. `find` gets the path below the mount, as it was sent, and
 * `GET` for `HEAD`.
 */
export function below(
  mountPath: string,
  find: (path: string, method: string | undefined) => Answer | undefined,
): Handler {
  return (request, response, next) => {
    // Typed as of HTTP/1, whatever server it is.
    const [req, res] = [request as Received, response as ServerResponse]
    const goOn = next ?? ending(res)
    const path = targetBelow(mountPath, pathOf(req.url ?? '/'))
    const method = req.method === 'HEAD' ? 'GET' : req.method
    const answer = path === undefined ? undefined : find(path, method)
    if (!answer) return goOn()
    // Async, so that one that throws is one that rejects.
    const answered = async (): Promise<void> => answer(req, res, goOn)
    answered().catch((error: unknown) => goOn(errorOf(error)))
  }
}

/** Express takes texts such as `route` for something else than an error. */
function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error('not an error', { cause: thrown })
}

function refusal(route: Route): Answer {
  const allowed = Object.keys(route)
    .map((method) => (method === 'GET' ? 'GET, HEAD' : method))
    .join(', ')
  return (_req, res) => {
    res.setHeader('Allow', allowed)
    sendJson(res, { error: `Only ${allowed} can be asked for here` }, 405)
  }
}

/** Stands in for the next handler of a site that has none. */
function ending(res: ServerResponse): Next {
  return (error) => {
    if (error === undefined) sendJson(res, { error: 'There is nothing here' }, 404)
    else if (res.headersSent) res.destroy()
    else sendJson(res, { error: 'This request has failed' }, 500)
  }
}

/** All else is percent-encoded in requests. */
const PATH = /^\/(?!\/)[!"$->@-~]*(?<!\/)$/

/**
 * Checks a path that others lie below.
 *
 * @throws TypeError, RangeError
 */
export function pathOption(option: 'mountPath' | 'publicPath', path: unknown): string {
  const allowed =
    'a path as browsers send it, which begins with one "/" and does not end with one, such as ' +
    (option === 'mountPath' ? '"/activity"' : '"/app"')
  if (typeof path !== 'string') throw wrongType(option, path, allowed)
  if (path !== '' && !PATH.test(path)) throw wrongValue(option, path, allowed)
  return path
}
