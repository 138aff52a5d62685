/**
 * Tables of all options in `docs/options.md`, as the checks of the code have them. The page has two
 * lines where a table stands:
 *
 *     <!-- options: createHits -->
 *     <!-- /options -->
 *
 * `npm run options` writes what is between them. It keeps the cells that no check can tell: the
 * meanings, servers, and defaults such as "the environment".
 */
import { activitySettings } from '../../src/activity/options.js'
import { BUCKET_OPTIONS, queueSettings } from '../../src/buckets/options.js'
import { mapSettings } from '../../src/collision-free-map/options.js'
import { globalCounterSettings } from '../../src/counters/global-counter.js'
import { shardedCounterSettings } from '../../src/counters/sharded-counter.js'
import { exportSettings } from '../../src/export-queue/options.js'
import { DEFAULT_REPEAT_SECONDS, hitsSettings } from '../../src/hits/options.js'
import { sequenceSettings } from '../../src/sequence/sequence.js'
import { GRID_OPTIONS, gridSettings } from '../../src/wide-cache/grid-options.js'
import { settingsOf } from '../../src/wide-cache/options.js'

type Values = Readonly<Record<string, unknown>>

interface Table {
  /** Options that must be given. */
  readonly least: Values
  readonly names: readonly string[]
  /** Returns all values, by the names of the options. @throws Error that says what is allowed */
  check(options: Values): Values
}

/** Options of counters, sequences, maps and queues. */
const SHARED = ['name', 'database', 'logger']
const QUEUE_OPTIONS = BUCKET_OPTIONS.filter((name) => name !== 'buckets' && !SHARED.includes(name))
/** Options of hits that are as those of the activity. */
const AS_ACTIVITY = ['timeZone', 'privacySignals', 'publicPath']
const work = (): Promise<void> => Promise.resolve()

/** All tables, by the names that the page gives them. */
export const TABLES: ReadonlyMap<string, Table> = new Map([
  ['createActivity', own(activityValues, {}, GRID_OPTIONS)],
  ['createHits', own(hitsValues, { name: 'threads' }, [...GRID_OPTIONS, ...AS_ACTIVITY])],
  ['WideCache', own(settingsOf<unknown, unknown>, { name: 'clicks', commit: work }, GRID_OPTIONS)],
  ['grid', { least: {}, names: GRID_OPTIONS, check: (options) => ({ ...gridSettings(options) }) }],
  ['shared', { least: { name: 'prices' }, names: SHARED, check: sharedValues }],
  ['ShardedCounter', own(shardedCounterSettings, { name: 'downloads' }, SHARED)],
  ['GlobalCounter', own(globalCounterSettings, { name: 'tickets' }, SHARED)],
  ['Sequence', own(sequenceSettings, { name: 'orders' }, SHARED)],
  [
    'CollisionFreeMap',
    own(mapValues, { name: 'stock', combine: work }, [...QUEUE_OPTIONS, ...SHARED]),
  ],
  [
    'ExportQueue',
    own(queueValues, { name: 'prices', exporter: work }, [...QUEUE_OPTIONS, ...SHARED]),
  ],
  ['buckets', { least: { name: 'prices' }, names: QUEUE_OPTIONS, check: sharedValues }],
])

type ActivityOptions = Parameters<typeof activitySettings>[0]
type HitsOptions = Parameters<typeof hitsSettings>[0]
type MapOptions = Parameters<typeof mapSettings<string, number>>[0]
type QueueOptions = Parameters<typeof exportSettings<string, unknown>>[0]

function activityValues(options: ActivityOptions) {
  const settings = activitySettings(options)
  return { ...settings, retentionHours: settings.keepSeconds / 3600 }
}

function hitsValues(options: HitsOptions) {
  const settings = hitsSettings(options)
  return { ...settings, repeatSeconds: settings.repeatSeconds || DEFAULT_REPEAT_SECONDS }
}

function mapValues(options: MapOptions) {
  const settings = mapSettings(options)
  return { ...settings, buckets: settings.buckets.byDefault }
}

function queueValues(options: QueueOptions) {
  const settings = exportSettings(options)
  return { ...settings, buckets: settings.buckets.byDefault }
}

function sharedValues(options: Values): Values {
  const settings = queueSettings(options as unknown as QueueOptions, 1)
  return { ...settings, every: settings.every.schedule }
}

/** The options of a class, but for those that it shares with others. */
function own<O>(
  settings: (options: O) => object,
  least: Values,
  shared: readonly string[] = [],
): Table {
  const check = (options: Values): Values => ({ ...settings(options as O) })
  const [, names = ''] = /takes (.*)$/.exec(refusal(() => check({ ...least, '?': 1 }))) ?? []
  return { least, names: names.split(', ').filter((name) => !shared.includes(name)), check }
}

/** The message of what `check` throws; empty if it does not. */
function refusal(check: () => unknown): string {
  try {
    check()
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

/** Is of a type that no option has. */
const WRONG = Symbol('wrong')

type Cells = readonly [name: string, byDefault: string, allowed: string, text: string]

/** The row of an option. `before`: its cells on the page. */
function rowOf({ least, check }: Table, name: string, before: readonly string[]): Cells {
  const { [name]: _, ...others } = least
  const isRequired = name in least && refusal(() => check(others)).includes(`"${name}"`)
  const [, allowed] =
    /; allowed: (.*)$/.exec(refusal(() => check({ ...least, [name]: WRONG }))) ?? []
  const byDefault = isRequired ? 'required' : (shown(check(least)[name]) ?? before[1] ?? '')
  return [
    `\`${name}\``,
    byDefault,
    allowed === undefined ? (before[2] ?? '') : allowedText(allowed),
    before[3] ?? '',
  ]
}

/** A value for a cell; `undefined`: one that is told in words. */
function shown(value: unknown): string | undefined {
  if (value === console) return '`console`'
  if (typeof value === 'number') return grouped(value)
  return typeof value === 'string' && value !== '' ? `\`'${value}'\`` : undefined
}

function grouped(value: number | string): string {
  return Number(value).toLocaleString('en-US', { maximumFractionDigits: 6 })
}

/** `3 to 3,600 seconds`; `function` and its arguments as code. */
function allowedText(allowed: string): string {
  const [, from, to, unit = ''] =
    /^a whole number from (\d+) to (\d+)(?: (\w+))?/.exec(allowed) ?? []
  if (to !== undefined) return `${grouped(from!)} to ${grouped(to)} ${unit}`.trim()
  return allowed
    .replace(/^an? (?=function|object|array)/, '')
    .replace(/^(function|object) (\([^()]*\))/, '$1 `$2`')
    .replaceAll('|', '\\|')
}

const BEGIN = /^<!-- options: (\w+) -->$/
const END = '<!-- /options -->'
const HEAD = ['| option | default | allowed | meaning |', '| --- | --- | --- | --- |']

/** `text` with its tables as the code has them. @throws Error for a table that does not exist */
export function render(text: string): string {
  const lines = text.split('\n')
  const rendered: string[] = []
  for (let index = 0; index < lines.length; index++) {
    rendered.push(lines[index]!)
    const [, title] = BEGIN.exec(lines[index]!) ?? []
    if (title === undefined) continue
    const end = lines.indexOf(END, index)
    const table = TABLES.get(title)
    if (!table || end === -1) throw new Error(`"${title}": there is no such table, or no end of it`)
    const before = new Map(
      lines
        .slice(index, end)
        .map(cellsOf)
        .map((cells) => [cells[0], cells]),
    )
    const rows = table.names.map((name) => rowOf(table, name, before.get(`\`${name}\``) ?? []))
    rendered.push('', ...HEAD, ...rows.map((cells) => `| ${cells.join(' | ')} |`), '', END)
    index = end
  }
  return rendered.join('\n')
}

/** The cells of a row. */
export function cellsOf(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim())
}
