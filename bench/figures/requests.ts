/** Costs of a request: the parts `overhead` and `micro`. */
import { CASES, REPEATED, WELL } from '../overhead/outages.js'
import {
  APPEND,
  BUFFER,
  CONTENDERS,
  CPU,
  CPU_WHOLE,
  EMPTY_HOOK,
  INSERT,
  MORGAN,
  NOTHING,
  GET_AND_SET,
  P50,
  P99,
  PINO,
  PROMETHEUS,
  RATE,
  REDIS,
  SESSION,
  WIDE_CACHE,
} from '../overhead/throughput.js'
import { type Figures, metric, settingsOf, share, shown } from './measured.js'

export const HELLO = 'hello'
const PAGE = '2 ms page'
const WHOLE = 'the whole'

const NAMES: ReadonlyMap<string, string> = new Map([
  [WIDE_CACHE.label, '**wide-cache**'],
  [EMPTY_HOOK.label, 'an empty `finish` hook'],
  [INSERT.label, 'one `INSERT` per visit'],
  [GET_AND_SET.label, 'get and set of an array in memcached'],
  [APPEND.label, 'one memcached `append` per visit'],
  [REDIS.label, '`RPUSH` to a Redis list'],
  [BUFFER.label, 'a buffer in the process, 10 s'],
  [MORGAN.label, '`morgan` to a file'],
  [PINO.label, '`pino-http` to a file'],
  [SESSION.label, '`express-session` in memory'],
  [PROMETHEUS.label, '`express-prom-bundle`'],
])

/** The name of a contender without the letter that it has in the results. */
export function contenderName(label: string): string {
  return NAMES.get(label) ?? label.replace(/^\(\w\) /, '')
}

export const overhead: Figures = (read) => {
  const { samples } = read('overhead')
  const ofHook = (label: string, setting: string): string =>
    share(samples.ratio(label, EMPTY_HOOK.label, setting, RATE))
  return {
    rows: CONTENDERS.map(({ label }) => ({
      contender: contenderName(label),
      'CPU, µs a request': shown(samples.spread(label, HELLO, CPU)),
      'µs over an empty hook':
        label === EMPTY_HOOK.label
          ? '0'
          : shown(samples.difference(label, EMPTY_HOOK.label, HELLO, CPU)),
      'throughput, % of an empty hook': ofHook(label, HELLO),
      'with a 2 ms page, %': ofHook(label, PAGE),
      'p99, ms': shown(samples.spread(label, HELLO, P99)),
    })),
  }
}

/** Not of those whose visits stay in the cells of the cache. */
export const overheadBehind: Figures = (read) => {
  const { samples } = read('overhead')
  return {
    rows: CONTENDERS.filter(
      (contender) => contender.counts === 'requests in SQL' || contender === NOTHING,
    ).map(({ label }) => ({
      contender: contenderName(label),
      'CPU until the answer, µs a request': shown(samples.spread(label, HELLO, CPU)),
      'CPU until the visit is in SQL': shown(samples.spread(label, HELLO, CPU_WHOLE)),
    })),
  }
}

export const outages: Figures = (read) => {
  const measured = read('overhead')
  const setting = settingsOf(measured, REPEATED.label)[0] ?? ''
  const { samples } = measured
  return {
    rows: CASES.map(({ label }) => ({
      site:
        label === WELL.label
          ? '**wide-cache**, all healthy'
          : contenderName(label).replace('a second such site', 'all healthy, a second site'),
      'p50, ms': shown(samples.spread(label, setting, P50)),
      'p99, ms': shown(samples.spread(label, setting, P99)),
      'p99, times the healthy site':
        label === WELL.label ? '1' : shown(samples.ratio(label, WELL.label, setting, P99)),
    })),
  }
}

export const steps: Figures = (read) => {
  const measured = read('micro')
  const { samples, result } = measured
  const [ns, bytes] = [metric('ns/visit'), metric('bytes/visit')]
  return {
    rows: [...new Set(result.measures.map(({ contender }) => contender))].map((name) => ({
      step: name,
      'ns a visit': shown(samples.spread(name, '', ns)),
      '% of the whole': share(samples.ratio(name, WHOLE, '', ns)),
      'bytes a visit': shown(samples.spread(name, '', bytes)),
    })),
  }
}
