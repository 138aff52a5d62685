/**
 * The check of who may see the dashboard. `authorize` alone decides, if it is given. Without it,
 * only a developer at the machine itself may: behind a reverse proxy every visitor's socket is
 * loopback, so a loopback socket alone says nothing.
 */
import type { Request } from '../page-views/express.js'
import type { Clock } from '../support/clock.js'
import type { BurstLogger } from '../support/logger.js'
import { describe } from '../visitors/guard.js'
import type { Authorize } from './options.js'
import { answerWithin, TimedOutError } from '../support/within.js'

/**
 * `figures`: all but the operation. `not set up`: there is no `authorize`, and the request does not
 * come from the machine itself.
 */
export type Verdict = 'allowed' | 'figures' | 'refused' | 'not set up'

const TIMEOUT_MS = 10_000

/** Decides about one request after the other; never rejects. */
export function gate(
  authorize: Authorize | undefined,
  logger: BurstLogger,
  clock: Clock,
): (req: Request) => Promise<Verdict> {
  const refuse = (how: 'threw' | 'returned' | 'did not answer', what: string): Verdict => {
    // Never the error's message or the value: they might identify someone.
    logger.warn(
      `authorize ${how}`,
      `wide-cache: the function given as "authorize" ${how} ${what}; the dashboard answers ` +
        'with 403',
    )
    return 'refused'
  }

  return async (req) => {
    if (!authorize) {
      if (isDeveloper(req, process.env['NODE_ENV'])) return 'allowed'
      logger.warn(
        'authorize',
        'wide-cache: the dashboard answers with 403, because the option "authorize" is not ' +
          'given; without it only requests from the machine itself are answered, and only ' +
          'with NODE_ENV=development',
      )
      return 'not set up'
    }
    let answer: unknown
    try {
      const asked: unknown = await answerWithin(clock, TIMEOUT_MS, async () => authorize(req))
      answer = asked
    } catch (error) {
      if (error instanceof TimedOutError) {
        return refuse('did not answer', `within ${TIMEOUT_MS / 1000} s`)
      }
      return refuse('threw', describe(error))
    }
    if (answer === 'figures') return answer
    if (typeof answer !== 'boolean') {
      return refuse('returned', `${describe(answer)}, not a boolean`)
    }
    return answer ? 'allowed' : 'refused'
  }
}

/** Headers that proxies add. Their names are enough; any value means that somebody forwards. */
const FORWARDED = new RegExp(
  '^(?:forwarded|via|cdn-loop|x-forwarded(?:-.*)?|x-original-.*|x-real-ip|x-client-ip|' +
    'x-cluster-client-ip|x-envoy-.*|x-proxyuser-ip|x-azure-.*|x-arr-.*|x-amzn?-.*|' +
    'cf-.*|true-client-ip|fastly-.*|fly-.*|x-vercel-.*|x-nf-.*|x-appengine-.*|client-ip)$',
)
const LOOPBACK_ADDRESS = /^(?:(?:::ffff:)?127(?:\.\d{1,3}){3}|::1)$/i
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * Whether a request comes from the machine itself, in development. The Host is looked at as well,
 * because a foreign site can let its own name point to 127.0.0.1. HTTP/1.0 is refused, because no
 * browser speaks it, but a proxy with nginx's defaults does.
 */
export function isDeveloper(req: Request, nodeEnv: string | undefined): boolean {
  return (
    nodeEnv === 'development' &&
    LOOPBACK_ADDRESS.test(req.socket.remoteAddress ?? '') &&
    LOOPBACK_HOST.test(String(req.headers.host ?? req.headers[':authority'])) &&
    req.httpVersionMajor * 10 + req.httpVersionMinor >= 11 &&
    !Object.keys(req.headers).some((name) => FORWARDED.test(name))
  )
}
