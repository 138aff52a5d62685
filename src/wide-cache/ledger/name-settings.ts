/**
 * Records in SQL what a name is used for: the kind of its rows, which all processes share, and the
 * settings of recording processes that others must know.
 */
import type { Queryable, SqlRow } from '../../database/database.js'
import { execute, raw, select } from '../../database/sql.js'
import { table } from '../../database/table.js'
import type { TimeZone } from '../../support/time-zone.js'
import type { Geometry } from '../grid.js'
import { SHARED } from './grid-record.js'

/**
 * Row of a name in SQL. A setting is the longest, or the last, that a process has given. 0 or
 * empty: no process has given it.
 */
export interface NameSettings {
  /** Name whose grids its frames go through: that of the first measure of its object. */
  readonly gridName: string
  /** Kind of its rows. The first process decides. */
  readonly kind: string
  /** Seconds that cells live. */
  readonly cellTtlSeconds: number
  /** Seconds after which a living writer has committed what no collector has brought to SQL. */
  readonly directSeconds: number
  /**
   * Seconds after which a writer that SQL has not heard of has vanished: then nothing can come from
   * the cells of any process, nor from a writer that lives and reaches SQL.
   */
  readonly vanishedSeconds: number
  /** Seconds that collected data is kept. */
  readonly keepSeconds: number
  /** An option of activities. */
  readonly historyDays: number
  /** An option of activities. */
  readonly keep: string
  /** An option of hits. */
  readonly repeatSeconds: number
  /** Name of the time zone that a process was given. */
  readonly givenTimeZone: string
  /** Zone of hours and days, of all measures of an object. `undefined`: none is recorded yet. */
  readonly timeZone?: TimeZone | undefined
}

/** A name whose frames go through shared caches. */
export interface SharedName extends NameSettings, Geometry {
  readonly name: string
}

/** The settings, their columns, and what a new row has of one that its process does not give. */
const SETTINGS = [
  ['cellTtlSeconds', 'cell_ttl_seconds', 0],
  ['directSeconds', 'direct_seconds', 0],
  ['vanishedSeconds', 'vanished_seconds', 0],
  ['keepSeconds', 'keep_seconds', 0],
  ['historyDays', 'history_days', 0],
  ['repeatSeconds', 'repeat_seconds', 0],
  ['keep', 'keeps', ''],
  ['givenTimeZone', 'given_zone', ''],
] as const

/** A value that a process gives for a setting. */
export interface GivenSetting {
  /** 0 or empty: not given. */
  readonly value: number | string
  /** The value that counts, of those that processes give. */
  readonly counts: 'longest' | 'last'
}

export type GivenSettings = Readonly<Partial<Record<(typeof SETTINGS)[number][0], GivenSetting>>>

/** Settings of a name that a process records. */
export interface OwnName extends Pick<
  NameSettings,
  'kind' | 'cellTtlSeconds' | 'directSeconds' | 'vanishedSeconds'
> {
  readonly name: string
  /** Further settings, which depend on the kind. */
  readonly nameSettings: GivenSettings
  /** Zone of hours and days that the process would have. `undefined`: its kind has none. */
  readonly timeZone?: TimeZone | undefined
}

/** A process uses a name for another kind of rows than it is recorded for. */
export class KindDiffersError extends Error {
  override readonly name = 'KindDiffersError'
  /** Stable code of the error, for programs. */
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

const COLUMNS = ['grid_name', 'kind', ...SETTINGS.map(([, column]) => column)]
/** The zone is in the row of the object's first measure. */
const SELECTED = raw(
  [...COLUMNS.map((column) => `n.${column}`), 'o.time_zone', 'o.hour_lead'].join(', '),
)
const WITH_ZONE = raw(
  'FROM wide_cache_names AS n LEFT JOIN wide_cache_names AS o ON o.name = n.grid_name',
)
const NAMES = table('wide_cache_names', ['name'], ...COLUMNS, 'safe_at')

/**
 * Records what a process uses a name for, whose frames go through the grids of `gridName`. Returns
 * what is recorded by now.
 *
 * @throws KindDiffersError; DatabaseError
 */
export async function enterName(
  database: Queryable,
  own: OwnName,
  gridName = own.name,
): Promise<NameSettings> {
  const { name, kind } = own
  const given: GivenSettings = {
    cellTtlSeconds: { value: own.cellTtlSeconds, counts: 'longest' },
    directSeconds: { value: own.directSeconds, counts: 'longest' },
    vanishedSeconds: { value: own.vanishedSeconds, counts: 'longest' },
    ...own.nameSettings,
  }
  let recorded = await readNameSettings(database, name)
  if (!recorded) {
    const values = SETTINGS.map(([setting, , none]) => given[setting]?.value ?? none)
    // Of several that come at once, the first one's stays.
    await NAMES.upsert(database, [[name, gridName, kind, ...values, await database.now()]])
    recorded = await readNameSettings(database, name)
  }
  if (!recorded) {
    throw new Error(`wide-cache: the row of "${name}" was deleted while it was recorded`)
  }
  refuseOtherKind(own, recorded)
  for (const [setting, column] of SETTINGS) {
    const one = given[setting]
    if (!one || !replaces(one, recorded[setting])) continue
    // Compared in SQL too, because another process may give one meanwhile.
    const differs = raw(`${column} ${one.counts === 'longest' ? '<' : '<>'}`)
    await execute(database)`UPDATE wide_cache_names SET ${raw(column)} = ${one.value}
      WHERE name = ${name} AND ${differs} ${one.value}`
  }
  return recorded
}

/** Checks that no process has recorded a name for another kind. @throws KindDiffersError */
export async function checkKind(queryable: Queryable, own: OwnName): Promise<void> {
  const recorded = await readNameSettings(queryable, own.name)
  if (recorded) refuseOtherKind(own, recorded)
}

function refuseOtherKind({ name, kind }: OwnName, recorded: NameSettings): void {
  if (recorded.kind !== kind) throw new KindDiffersError(name, recorded.kind, kind)
}

/** Tells whether a given value takes the place of the recorded one. */
function replaces({ value, counts }: GivenSetting, recorded: number | string): boolean {
  if (value === 0 || value === '') return false
  return counts === 'longest' ? value > recorded : value !== recorded
}

/** Returns the recorded settings of a name; `undefined`: no process has recorded one. */
export async function readNameSettings(
  queryable: Queryable,
  name: string,
): Promise<NameSettings | undefined> {
  const { rows } = await execute(queryable)`SELECT ${SELECTED} ${WITH_ZONE} WHERE n.name = ${name}`
  return rows[0] && settingsIn(rows[0])
}

/** Returns those of some names that are recorded. */
export async function recordedAmong(
  queryable: Queryable,
  names: readonly string[],
): Promise<string[]> {
  const found = select(queryable, { name: String })
  return (await found`FROM wide_cache_names WHERE name IN (${names})`).map(({ name }) => name)
}

/**
 * Returns all names whose frames go through shared caches, each with the geometry of the grid
 * that was used last.
 */
export async function sharedNames(queryable: Queryable): Promise<SharedName[]> {
  const { rows } = await execute(queryable)`SELECT n.name, ${SELECTED}, width, layer_seconds
    ${WITH_ZONE} JOIN wide_cache_grids AS g ON g.name = n.name
    WHERE g.private_to = ${SHARED} ORDER BY n.name, g.used_at, g.id`
  const names = rows.map((row): SharedName => ({
    name: String(row['name']),
    ...settingsIn(row),
    width: Number(row['width']),
    layerSeconds: Number(row['layer_seconds']),
  }))
  return [...new Map(names.map((one) => [one.name, one])).values()]
}

/** Returns the zone that a row has in `time_zone` and `hour_lead`; `undefined`: none. */
export function timeZoneIn({ time_zone: name, hour_lead: lead }: SqlRow): TimeZone | undefined {
  return typeof name === 'string' && name !== '' ? { name, leadMinutes: Number(lead) } : undefined
}

/**
 * Records the zone of an object, unless another process has been quicker. The row of its first
 * measure must be there.
 */
export async function enterTimeZone(
  database: Queryable,
  gridName: string,
  { name, leadMinutes }: TimeZone,
): Promise<void> {
  await execute(database)`UPDATE wide_cache_names SET time_zone = ${name},
    hour_lead = ${leadMinutes} WHERE name = ${gridName} AND time_zone = ''`
}

function settingsIn(row: SqlRow): NameSettings {
  const timeZone = timeZoneIn(row)
  return {
    gridName: String(row['grid_name']),
    kind: String(row['kind']),
    cellTtlSeconds: Number(row['cell_ttl_seconds']),
    directSeconds: Number(row['direct_seconds']),
    vanishedSeconds: Number(row['vanished_seconds']),
    keepSeconds: Number(row['keep_seconds']),
    historyDays: Number(row['history_days']),
    repeatSeconds: Number(row['repeat_seconds']),
    keep: String(row['keeps']),
    givenTimeZone: String(row['given_zone']),
    ...(timeZone && { timeZone }),
  }
}
