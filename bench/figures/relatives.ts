/** Counters, sequence, map and hits beside plain SQL: the part `relatives`. */
import { number } from '../harness/table.js'
import { INCREMENTS, ONE_ROW, P50, P99, PLACES, SHARDED } from '../relatives/apart.js'
import { WORKING } from '../relatives/word-count.js'
import { BYTES, COUNT_MS, MICROSECONDS, ONE_ITEM } from '../relatives/viewers.js'
import { neutral } from '../harness/samples.js'
import { bySetting, type Figures, type Measured, settingsOf, shown } from './measured.js'

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

export const relatives: Figures = (read) => {
  const measured = read('relatives')
  return { rows: PAIRS.map((pair) => row(measured, pair)) }
}

/** What each class is for, and only how many times as fast it is. */
export const relativesInShort: Figures = (read) => {
  const measured = read('relatives')
  return {
    rows: PAIRS.filter(([ours, baseline]) => isUsual(ours) && isUsual(baseline)).map((pair) => {
      const { contender, beside, callers, times, 'times, 1 caller': alone } = row(measured, pair)
      return { contender, beside, callers, 'times as fast': times, 'with 1 caller': alone }
    }) as Record<string, string>[],
  }
}

function isUsual(contender: string): boolean {
  return !contender.endsWith(NO_LOG) && !contender.includes('without coalescing')
}

function row(
  { result, samples }: Measured,
  [ours, baseline, name]: (typeof PAIRS)[number],
): Record<string, string> {
  const of = (contender: string): string[] =>
    result.measures.flatMap((measure) =>
      measure.contender === contender && measure.metric === name ? measure.setting : [],
    )
  const both = of(ours).filter((setting) => of(baseline).includes(setting))
  const callers = CALLERS.find((setting) => both.includes(setting)) ?? CALLERS[0]!
  const speed = neutral(name)
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

/** A counter whose callers are in a process each. */
export const apart: Figures = (read) => {
  const measured = read('relatives')
  const { samples } = measured
  return {
    rows: byPlace(settingsOf(measured, SHARDED)).map((setting) => ({
      'a caller each, and where the database is': setting,
      'one row, increments/s': shown(samples.spread(ONE_ROW, setting, INCREMENTS)),
      'p50, ms': shown(samples.spread(ONE_ROW, setting, P50)),
      'p99, ms': shown(samples.spread(ONE_ROW, setting, P99)),
      '`ShardedCounter`, increments/s': shown(samples.spread(SHARDED, setting, INCREMENTS)),
      'its p50, ms': shown(samples.spread(SHARDED, setting, P50)),
      'its p99, ms': shown(samples.spread(SHARDED, setting, P99)),
      times: shown(samples.ratio(SHARDED, ONE_ROW, setting, INCREMENTS)),
    })),
  }
}

function byPlace(settings: readonly string[]): string[] {
  return Object.values(PLACES).flatMap((place) =>
    settings.filter((setting) => setting.endsWith(place)),
  )
}

/** One item that everybody looks at. */
export const viewers = bySetting('relatives', ONE_ITEM, (setting, samples) => ({
  'one item': setting,
  'until in SQL, µs a view': shown(samples.spread(ONE_ITEM, setting, MICROSECONDS)),
  'in SQL, bytes a viewer': shown(samples.spread(ONE_ITEM, setting, BYTES)),
  '`count()`, ms': shown(samples.spread(ONE_ITEM, setting, COUNT_MS)),
}))
