/**
 * The three uses of the wide cache that every process of the chaos has, as short in their waits as
 * the options allow.
 */
import {
  type Activity,
  createActivity,
  createHits,
  type Database,
  type Hits,
  type LedgerReport,
  type Logger,
  WideCache,
} from '../../src/index.js'
import { measureName } from '../../src/page-views/measures.js'
import { CONFIRM_MARGIN_SECONDS } from '../../src/wide-cache/grid-options.js'
import { ledgerReport } from '../../src/wide-cache/ledger/report.js'

/** A row of the table `recorded`. SQL refuses a negative number. */
export interface Row {
  readonly life: string
  readonly number: number
}

/** The objects that a process opens, and their site. */
export interface UsesOptions {
  readonly site: string
  readonly cache: string
  readonly database: string
  /** Seconds between two runs, if it collects. */
  readonly collects: number | false
  /** Another width and layer length than all others. */
  readonly otherGeometry: boolean
  /** Names of its own for each site, instead of the same in all of them. */
  readonly apart: boolean
  /** Zone that it would have; the first process of a site that records decides. */
  readonly timeZone: string
}

export interface Uses {
  readonly recorded: WideCache<Row>
  readonly activity: Activity
  readonly hits: Hits
}

/** The names of the three, which are the names of the checks too. */
export const PARTS = ['recorded', 'activity', 'hits'] as const
export type Part = (typeof PARTS)[number]

/** What has a ledger: the three, and the views that browsers report to the activity. */
export const BOOKS = [...PARTS, 'seen'] as const
export type Book = (typeof BOOKS)[number]

const ROWS_A_STATEMENT = 500
/** Longer than any fault, so that closing in order never has to leave anything behind. */
const CLOSE_TIMEOUT_MS = 180_000
/** Longer than a run and the steps of its clocks together, but for those by days. */
export const WINDOW_SECONDS = 12 * 3600
/** The period of collectors elsewhere, as a process takes it that does not collect. */
const DEFAULT_PERIOD_SECONDS = 10
/** Longer than the lease of a killed collector, and the look of the next one: 35 s. */
export const CELL_TTL_SECONDS = 60
/**
 * With 1, a layer is drained at the very moment it ends, and a frame under way then is lost with
 * its writer.
 */
const DRAIN_AFTER_LAYERS = 3

/** The site whose database is a copy of another's, made while that is at work. */
export const COPY = 'copy'
export const COPIED = 'staging'

/** The name that a part has in `site`. */
export function gridNameOf(
  part: Part,
  { site, apart }: Pick<UsesOptions, 'site' | 'apart'>,
): string {
  return apart ? `${part}-${site === COPY ? COPIED : site}` : part
}

/** The name that the views that browsers report have in `site`. */
export function seenNameOf(names: Pick<UsesOptions, 'site' | 'apart'>): string {
  return measureName(gridNameOf('activity', names), 'seen')
}

/** The ledgers of a site, as a process sees them that has recorded nothing of what is seen. */
export async function ledgersOf(
  database: Database,
  uses: Uses,
  names: Pick<UsesOptions, 'site' | 'apart'>,
): Promise<Record<Book, LedgerReport>> {
  const [recorded, activity, hits] = await Promise.all(PARTS.map((part) => uses[part].ledger()))
  const seen = await ledgerReport(database, seenNameOf(names), () => undefined)
  return { recorded: recorded!, activity: activity!, hits: hits!, seen }
}

/** Opens them. `logger`: not given, what they say goes to the console. */
export function openUses(options: UsesOptions, logger?: Logger): Uses {
  const { cache, database, collects, otherGeometry, timeZone } = options
  const layerSeconds = otherGeometry ? 2 : 1
  const grid = {
    cache,
    database,
    layerSeconds,
    width: otherGeometry ? 5 : 15,
    drainAfterLayers: DRAIN_AFTER_LAYERS,
    collect: collects === false ? collects : `*/${collects} * * * * *`,
    cellTtlSeconds: CELL_TTL_SECONDS,
    confirmSeconds:
      (DRAIN_AFTER_LAYERS + 1) * layerSeconds +
      (collects === false ? DEFAULT_PERIOD_SECONDS : collects) +
      CONFIRM_MARGIN_SECONDS,
    closeTimeoutMs: CLOSE_TIMEOUT_MS,
    logger,
  }
  return {
    recorded: new WideCache<Row>({
      ...grid,
      name: gridNameOf('recorded', options),
      async commit(rows, tx) {
        for (let at = 0; at < rows.length; at += ROWS_A_STATEMENT) {
          const part = rows.slice(at, at + ROWS_A_STATEMENT)
          await tx.query(
            `INSERT INTO recorded (life, number) VALUES ${part.map(() => '(?, ?)').join(', ')}`,
            part.flatMap(({ life, number }) => [life, number]),
          )
        }
      },
    }),
    activity: createActivity({
      ...grid,
      name: gridNameOf('activity', options),
      timeZone,
      windowSeconds: WINDOW_SECONDS,
      statsTtlSeconds: 1,
    }),
    hits: createHits({ ...grid, name: gridNameOf('hits', options), timeZone }),
  }
}
