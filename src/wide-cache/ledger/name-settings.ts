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

/** What processes record of a name: its kind, and settings that others must know. */
export interface NameSettings {
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
export interface SharedName extends NameSettings, Geometry {
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
        `If no process uses kind "${recorded}" any more, run: DELETE FROM wide_cache_names ` +
        `WHERE name = '${name}'`,
    )
  }
}

const TABLE = 'wide_cache_names'
const COLUMNS = [
  'kind',
  'cell_ttl_seconds',
  'vanished_seconds',
  'keep_seconds',
  'history_days',
  'repeat_seconds',
  'keeps',
] as const

/** Records the settings that a process has for a name. @throws KindDiffersError; DatabaseError */
export async function enterName(
  database: Queryable,
  name: string,
  own: NameSettings,
): Promise<void> {
  const row = [
    name,
    own.kind,
    own.cellTtlSeconds,
    own.vanishedSeconds,
    own.keepSeconds,
    own.historyDays,
    own.repeatSeconds,
    own.keep,
  ] as const
  let recorded = await readNameSettings(database, name)
  if (!recorded) {
    // Of several that come at once, the first one's stays.
    await table(TABLE, ['name'], ...COLUMNS).upsert(database, [row])
    recorded = await readNameSettings(database, name)
  }
  if (!recorded) {
    throw new Error(`wide-cache: the row of "${name}" was deleted while it was recorded`)
  }
  if (recorded.kind !== own.kind) throw new KindDiffersError(name, recorded.kind, own.kind)
  const repeatDiffers = own.repeatSeconds > 0 && recorded.repeatSeconds !== own.repeatSeconds
  const keepDiffers = own.keep !== '' && recorded.keep !== own.keep
  if (
    recorded.cellTtlSeconds >= own.cellTtlSeconds &&
    recorded.vanishedSeconds >= own.vanishedSeconds &&
    recorded.keepSeconds >= own.keepSeconds &&
    recorded.historyDays >= own.historyDays &&
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

/** Returns the recorded settings of a name; `undefined`: no process has recorded one. */
export async function readNameSettings(
  queryable: Queryable,
  name: string,
): Promise<NameSettings | undefined> {
  const {
    rows: [row],
  } = await queryable.query(`SELECT ${COLUMNS.join(', ')} FROM ${TABLE} WHERE name = ?`, [name])
  return row && settingsIn(row)
}

/**
 * Returns all names whose frames go through shared caches, each with the geometry of the grid
 * that was used last.
 */
export async function sharedNames(queryable: Queryable): Promise<SharedName[]> {
  const { rows } = await queryable.query(
    `SELECT u.name, ${COLUMNS.join(', ')}, width, layer_seconds ` +
      `FROM ${TABLE} AS u JOIN wide_cache_grids AS g ON g.name = u.name ` +
      'WHERE g.private_to = ? ORDER BY u.name, g.used_at, g.id',
    [SHARED],
  )
  const names = new Map(
    rows.map((row) => [
      String(row['name']),
      {
        name: String(row['name']),
        ...settingsIn(row),
        width: Number(row['width']),
        layerSeconds: Number(row['layer_seconds']),
      },
    ]),
  )
  return [...names.values()]
}

function settingsIn(row: SqlRow): NameSettings {
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
