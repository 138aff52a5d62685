/** Counters, sequence, map and hits beside plain SQL: the part `relatives`. */
import { number } from '../harness/table.js'
import { INCREMENTS, ONE_ROW, PLACES, SHARDED } from '../relatives/apart.js'
import { WORKING } from '../relatives/word-count.js'
import { BYTES, COUNT_MS, MICROSECONDS, ONE_ITEM } from '../relatives/viewers.js'
import { neutral, P50, P99 } from '../harness/samples.js'
import {
  bySetting,
  columns,
  type Measured,
  settingsOf,
  shown,
  tableOf,
  type Tables,
} from './measured.js'

/** Numbers of callers that the table prefers, of those that a pair was measured with. */
const CALLERS = ['64 callers', '32 callers']
const ALONE = '1 caller'
const NO_LOG = ', no binary log'

const PAIRS: readonly (readonly [ours: string, baseline: string, metric: string])[] = [
  ['ShardedCounter, 20 shards', 'single-row UPDATE', 'increments/s'],
  [`ShardedCounter, 20 shards${NO_LOG}`, `single-row UPDATE${NO_LOG}`, 'increments/s'],
  ['ShardedCounter, 20 shards', 'one row, coalesced in ten lines', 'increments/s'],
  ['20 shards, without coalescing', 'single-row UPDATE', 'increments/s'],
  [`20 shards, without coalescing${NO_LOG}`, `single-row UPDATE${NO_LOG}`, 'increments/s'],
  ['20 shards, without coalescing', '1 shard, without coalescing', 'increments/s'],
  ['GlobalCounter', 'UPDATE … LAST_INSERT_ID(n + 1), a counter', 'numbers/s'],
  ['GlobalCounter', 'bare memcached increment (a flush loses all)', 'numbers/s'],
  ['Sequence, block 100', 'UPDATE … LAST_INSERT_ID(n + 1)', 'numbers/s'],
  ['Sequence, block 1,000', 'UPDATE … LAST_INSERT_ID(n + 1)', 'numbers/s'],
  ['CollisionFreeMap', 'in place, a statement a word', 'documents/s'],
  ['CollisionFreeMap', 'in place, a statement a word, sorted', 'documents/s'],
  ['CollisionFreeMap', 'in place, one sorted statement', 'documents/s'],
  [`CollisionFreeMap${WORKING}`, `in place, one sorted statement${WORKING}`, 'documents/s'],
  ['ExportQueue', 'outbox table, one reader', 'entries/s'],
  ['Hits, any view counts', 'UPDATE per view', 'views/s'],
  ['Hits, every view by another viewer', 'UPDATE per view', 'views/s'],
]

function isUsual(contender: string): boolean {
  return !contender.endsWith(NO_LOG) && !contender.includes('without coalescing')
}

type Row = Record<string, string>

function row(measured: Measured, [ours, baseline, name]: (typeof PAIRS)[number]): Row {
  const { samples } = measured
  const speed = neutral(name)
  const baselines = settingsOf(measured, baseline, speed)
  const both = settingsOf(measured, ours, speed).filter((setting) => baselines.includes(setting))
  const callers = CALLERS.find((setting) => both.includes(setting)) ?? CALLERS[0]!
  const rate = (contender: string): string =>
    shown(samples.spread(contender, callers, speed), (value) => number(Math.round(value)))
  const latency = (contender: string): string =>
    [P50, P99]
      .map(({ metric: name }) => samples.spread(contender, callers, neutral(name)).median)
      .map((ms) => number(Number(ms.toPrecision(3))))
      .join(', ')
  return {
    contender: ours,
    beside: baseline,
    callers: callers.replace(/ .*$/, ''),
    unit: name,
    does: rate(ours),
    'the other does': rate(baseline),
    'p50 and p99 of a call, ms': latency(ours),
    'of the other': latency(baseline),
    times: shown(samples.ratio(ours, baseline, callers, speed)),
    'times, 1 caller': both.includes(ALONE)
      ? shown(samples.ratio(ours, baseline, ALONE, speed))
      : '',
  }
}

function byPlace(settings: readonly string[]): string[] {
  return Object.values(PLACES).flatMap((place) =>
    settings.filter((setting) => setting.endsWith(place)),
  )
}

export const tables: Tables = {
  relatives: tableOf('relatives', (measured) => PAIRS.map((pair) => row(measured, pair))),

  /** What each class is for, and only how many times as fast it is. */
  'relatives-in-short': tableOf('relatives', (measured) =>
    PAIRS.filter((pair) => pair.slice(0, 2).every(isUsual)).map((pair) => {
      const { contender, beside, callers, times, 'times, 1 caller': alone } = row(measured, pair)
      return { contender, beside, callers, 'times as fast': times, 'with 1 caller': alone } as Row
    }),
  ),

  /** A counter whose callers are in a process each. */
  'relatives-apart': tableOf('relatives', (measured) =>
    byPlace(settingsOf(measured, SHARDED)).map((setting) => ({
      'a caller each, and where the database is': setting,
      ...columns(measured.samples, ONE_ROW, setting, {
        'one row, increments/s': INCREMENTS,
        'p50, ms': P50,
        'p99, ms': P99,
      }),
      ...columns(measured.samples, SHARDED, setting, {
        '`ShardedCounter`, increments/s': INCREMENTS,
        'its p50, ms': P50,
        'its p99, ms': P99,
      }),
      times: shown(measured.samples.ratio(SHARDED, ONE_ROW, setting, INCREMENTS)),
    })),
  ),

  /** One item that everybody looks at. */
  'hits-viewers': bySetting('relatives', ONE_ITEM, (setting, samples) => ({
    'one item': setting,
    ...columns(samples, ONE_ITEM, setting, {
      'until in SQL, µs a view': MICROSECONDS,
      'in SQL, bytes a viewer': BYTES,
      '`count()`, ms': COUNT_MS,
    }),
  })),
}
