/** The wide cache's relatives beside their naive twins: the part `relatives`. */
import { number } from '../harness/table.js'
import { type Figures, type Measured, metric, shown } from './measured.js'

/**
 * How many callers the table is about, of those that a pair was measured with: the most of these.
 */
const CALLERS = ['64 callers', '32 callers']
const ALONE = '1 caller'
const NO_LOG = ', no binary log'

const PAIRS: readonly (readonly [ours: string, twin: string, metric: string])[] = [
  ['ShardedCounter, 20 shards', 'single-row UPDATE', 'increments/s'],
  [`ShardedCounter, 20 shards${NO_LOG}`, `single-row UPDATE${NO_LOG}`, 'increments/s'],
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
  ['ExportQueue', 'outbox table, one reader', 'entries/s'],
  ['Hits, any view counts', 'UPDATE per view', 'views/s'],
  ['Hits, every view by another viewer', 'UPDATE per view', 'views/s'],
]

export const relatives: Figures = (read) => {
  const measured = read('relatives')
  return { rows: PAIRS.map((pair) => row(measured, pair)) }
}

function row(
  { result, samples }: Measured,
  [ours, twin, name]: (typeof PAIRS)[number],
): Record<string, string> {
  const of = (contender: string): string[] =>
    result.measures.flatMap((measure) =>
      measure.contender === contender && measure.metric === name ? measure.setting : [],
    )
  const both = of(ours).filter((setting) => of(twin).includes(setting))
  const callers = CALLERS.find((setting) => both.includes(setting)) ?? CALLERS[0]!
  const speed = metric(name)
  const rate = (contender: string): string =>
    shown(samples.spread(contender, callers, speed), (value) => number(Math.round(value)))
  return {
    relative: ours,
    beside: twin,
    callers: callers.replace(/ .*$/, ''),
    unit: name,
    does: rate(ours),
    'the other does': rate(twin),
    times: shown(samples.ratio(ours, twin, callers, speed)),
    'times, 1 caller': both.includes(ALONE) ? shown(samples.ratio(ours, twin, ALONE, speed)) : '',
  }
}
