/**
 * Records in SQL what a name is used for: the kind of its rows, which all processes share, and the
 * settings of recording processes that collectors must know.
 */
import type { Queryable, SqlRow } from '../../database/database.js'
import { table } from '../../database/table.js'
import type { Geometry } from '../grid.js'
import { SHARED } from './grid-record.js'

/** Data of visits that is kept in SQL: rows and sums, or sums alone. */
export type Keep = 'rows' | 'sums'

/** Use of a name, as its processes give it. */
export interface Use {
  /** Kind of its rows. The first process decides. */
  readonly kind: string
  /** Seconds that cells live. The longest counts. */
  readonly cellTtlSeconds: number
  /**
   * Seconds after which a writer that SQL has not heard of has vanished. The longest counts: then
   * nothing can come from the cells of any process, nor from a writer that lives and reaches SQL.
   */
  readonly vanishedSeconds: number
  /**
   * Seconds for which collected data is kept; 0: not given. The longest counts, so that nothing is
   * removed too early.
   */
  readonly keepSeconds: number
  /** Days that values of dimensions are kept by the hour; 0: not given. The most count. */
  readonly historyDays: number
  /**
   * Data of visits that is kept; empty: not given, so rows. The last process that gives it decides.
   */
  readonly keep: 'rows' | 'sums' | ''
  /**
   * Seconds in which a viewer counts once; 0: not given. The last process that gives it decides.
   */
  readonly repeatSeconds: number
}

/** A name whose frames go through shared caches. */
export interface SharedUse extends Use, Geometry {
  readonly name: string
}

/** A process uses a name for another kind of rows than it is recorded for. */
export class KindDiffersError extends Error {
  override readonly name = 'KindDiffersError'
  /** For programs. */
  readonly code = 'ERR_WIDE_CACHE_KIND'

  constructor(name: string, recorded: string, own: string) {
    super(
      `The name "${name}" is for rows of kind "${recorded}" in this database, and this ` +
        `process uses it for kind "${own}". ` +
        'Give this process another name, or another database. Until then it commits nothing ' +
        'and holds its rows, up to maxOutboxBytes. ' +
        `If no process uses kind "${recorded}" any more, run: DELETE FROM wide_cache_uses ` +
        `WHERE name = '${name}'`,
    )
  }
}

const TABLE = 'wide_cache_uses'
const COLUMNS = [
  'kind',
  'cell_ttl_seconds',
  'vanished_seconds',
  'keep_seconds',
  'history_days',
  'repeat_seconds',
  'keeps',
] as const

/** Records what a process uses a name for. @throws KindDiffersError; DatabaseError */
export async function enterUse(database: Queryable, name: string, use: Use): Promise<void> {
  const row = [
    name,
    use.kind,
    use.cellTtlSeconds,
    use.vanishedSeconds,
    use.keepSeconds,
    use.historyDays,
    use.repeatSeconds,
    use.keep,
  ] as const
  let recorded = await useOf(database, name)
  if (!recorded) {
    // Of several that come at once, the first one's stays.
    await table(TABLE, ['name'], ...COLUMNS).upsert(database, [row])
    recorded = await useOf(database, name)
  }
  if (!recorded) {
    throw new Error(`wide-cache: the use of "${name}" was deleted while it was recorded`)
  }
  if (recorded.kind !== use.kind) throw new KindDiffersError(name, recorded.kind, use.kind)
  const repeatDiffers = use.repeatSeconds > 0 && recorded.repeatSeconds !== use.repeatSeconds
  const keepDiffers = use.keep !== '' && recorded.keep !== use.keep
  if (
    recorded.cellTtlSeconds >= use.cellTtlSeconds &&
    recorded.vanishedSeconds >= use.vanishedSeconds &&
    recorded.keepSeconds >= use.keepSeconds &&
    recorded.historyDays >= use.historyDays &&
    !repeatDiffers &&
    !keepDiffers
  ) {
    return
  }
  await table(
    TABLE,
    ['name'],
    'kind',
    ['cell_ttl_seconds', 'greatest'],
    ['vanished_seconds', 'greatest'],
    ['keep_seconds', 'greatest'],
    ['history_days', 'greatest'],
    repeatDiffers ? ['repeat_seconds', 'replace'] : 'repeat_seconds',
    keepDiffers ? ['keeps', 'replace'] : 'keeps',
  ).upsert(database, [row])
}

/** Returns the recorded use of a name; `undefined`: no process has recorded one. */
export async function useOf(queryable: Queryable, name: string): Promise<Use | undefined> {
  const {
    rows: [row],
  } = await queryable.query(`SELECT ${COLUMNS.join(', ')} FROM ${TABLE} WHERE name = ?`, [name])
  return row && useIn(row)
}

/**
 * Returns all names whose frames go through shared caches, each with the shape of the grid that was
 * used last.
 */
export async function sharedUses(queryable: Queryable): Promise<SharedUse[]> {
  const { rows } = await queryable.query(
    `SELECT u.name, ${COLUMNS.join(', ')}, width, layer_seconds ` +
      `FROM ${TABLE} AS u JOIN wide_cache_grids AS g ON g.name = u.name ` +
      'WHERE g.private_to = ? ORDER BY u.name, g.used_at, g.id',
    [SHARED],
  )
  const uses = new Map(
    rows.map((row) => [
      String(row['name']),
      {
        name: String(row['name']),
        ...useIn(row),
        width: Number(row['width']),
        layerSeconds: Number(row['layer_seconds']),
      },
    ]),
  )
  return [...uses.values()]
}

function useIn(row: SqlRow): Use {
  return {
    kind: String(row['kind']),
    cellTtlSeconds: Number(row['cell_ttl_seconds']),
    vanishedSeconds: Number(row['vanished_seconds']),
    keepSeconds: Number(row['keep_seconds']),
    historyDays: Number(row['history_days']),
    repeatSeconds: Number(row['repeat_seconds']),
    keep: row['keeps'] === 'rows' || row['keeps'] === 'sums' ? row['keeps'] : '',
  }
}
