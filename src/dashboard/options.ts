import type { Request } from '../page-views/express.js'
import { pathOption } from '../page-views/router.js'
import { onlyKnown, optionalFunction, wrongType } from '../support/options.js'
import type { DashboardHits } from './source.js'

/** Options of `dashboard()`. One that is `undefined` is one not given. */
export interface DashboardOptions {
  /**
   * Whether a request may see the dashboard: `true` or `false`, or a promise of one. `'figures'`:
   * all but the operation, so no ledger, grid, servers or errors. Anything else, an error and a
   * rejection refuse the request. Not given: only `NODE_ENV=development` on the machine itself may
   * see it.
   *
   * @default nobody, but for a developer on the machine itself
   */
  authorize?: Authorize | undefined
  /** Hits whose most viewed items the dashboard shows. @default none */
  hits?: readonly DashboardHits[] | undefined
  /**
   * Path that the dashboard lies at, for servers that leave it in `req.url`, as `node:http` and
   * Fastify do: `/admin/activity`.
   * @default '', because Express takes it away
   */
  mountPath?: string | undefined
  /**
   * Shows everybody totals, and nothing else: page views and visitors. Not with `authorize` or
   * `hits`.
   * @default false
   */
  shared?: boolean | undefined
}

/** Says whether a request may see the dashboard. */
export type Authorize = (req: Request) => boolean | 'figures' | Promise<boolean | 'figures'>

export interface DashboardSettings {
  readonly authorize: Authorize | undefined
  readonly hits: readonly DashboardHits[]
  readonly mountPath: string
  readonly shared: boolean
}

const MAX_HITS = 20

/** @throws TypeError */
export function dashboardSettings(options: DashboardOptions): DashboardSettings {
  onlyKnown('dashboard', options, ['authorize', 'hits', 'mountPath', 'shared'])
  const { shared = false } = options
  const alone = options.authorize === undefined && options.hits === undefined
  if (typeof shared !== 'boolean' || (shared && !alone)) {
    throw wrongType('shared', shared, 'false, or true without "authorize" and "hits"')
  }
  return {
    authorize: optionalFunction(
      'authorize',
      options.authorize,
      'a function of the request that returns true, false or "figures", or a promise of one',
    ),
    hits: hitsOf(options.hits),
    mountPath: pathOption('mountPath', options.mountPath ?? ''),
    shared,
  }
}

function hitsOf(hits: readonly DashboardHits[] = []): readonly DashboardHits[] {
  const fits = Array.isArray(hits) && hits.length <= MAX_HITS && hits.every(areHits)
  if (!fits) {
    throw wrongType(
      'hits',
      hits,
      `an array of at most ${MAX_HITS} hits, as createHits() makes them`,
    )
  }
  return [...hits]
}

function areHits(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { name, top, history }: { name?: unknown; top?: unknown; history?: unknown } = value
  return [typeof name, typeof top, typeof history].join() === 'string,function,function'
}
