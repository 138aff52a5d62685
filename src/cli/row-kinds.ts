/** The kinds of rows that a command can read and commit by itself. */
import { commitVisits } from '../activity/commit.js'
import { type Visit, visitCodec } from '../activity/visit.js'
import type { Database } from '../database/database.js'
import { countingMap, hitsCommit } from '../hits/counting.js'
import { type Hit, hitCodec } from '../hits/hit.js'
import { GRID_NAME_START } from '../hits/options.js'
import { systemEnvironment } from '../support/environment.js'
import type { Logger } from '../support/logger.js'
import type { RowKind } from '../wide-cache/ledger/quarantined-frames.js'

/** A kind, and how its rows are shown. */
export interface KnownKind<Row> extends RowKind<Row> {
  /** A row as it may be shown: without the hash of its visitor. */
  readonly describe: (row: Row) => object
}

const VISITS: KnownKind<Visit> = {
  kind: 'activity',
  codec: visitCodec,
  commit: commitVisits,
  describe: ({ time, page, dimensions = [], visitor }) => ({
    time: new Date(time).toISOString(),
    page,
    dimensions,
    visitor: visitor ? 'known' : 'unknown',
  }),
}

/** Hands the kind of the rows of a name to `use`; `undefined`: no command knows their kind. */
export function withKind<T>(
  { name: gridName, kind }: { readonly name: string; readonly kind: string },
  database: Database,
  logger: Logger,
  use: <Row>(kind: KnownKind<Row>) => T,
): T | undefined {
  if (kind === VISITS.kind) return use(VISITS)
  if (kind !== 'hits' || !gridName.startsWith(GRID_NAME_START)) return undefined
  const name = gridName.slice(GRID_NAME_START.length)
  const { map } = countingMap(database, { name, gridName, logger }, systemEnvironment)
  const commit = hitsCommit({ name, gridName, repeatSeconds: 0 }, map)
  return use<Hit>({ kind, codec: hitCodec, commit, describe: describeHit })
}

function describeHit({ time, item, viewer }: Hit): object {
  return { time: new Date(time).toISOString(), item, viewer: viewer ? 'known' : 'unknown' }
}
