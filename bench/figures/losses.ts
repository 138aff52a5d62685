/** Figures of losses, beside the cost of a request: the parts `loss` and `faults`. */
import { bound, COUNTED, counted, LOSING, MIXED, REPEATED } from '../faults/bound.js'
import { CONTENDERS, WIDE_CACHE } from '../faults/contenders.js'
import { type Fault, FAULTS, OUTAGES } from '../faults/faults.js'
import { CAUGHT_UP, LOST as LOST_MS, TWICE as TWICE_MS } from '../faults/measures.js'
import type { Metric } from '../harness/samples.js'
import {
  APPEND as APPENDING,
  GET_AND_SET,
  FIRST_WIDTH,
  WIDE_CACHE as OURS,
} from '../loss/batches.js'
import { number } from '../harness/table.js'
import * as overhead from '../overhead/contenders.js'
import { type Figures, loss, type Measured, type Read, settingsOf, shown } from './measured.js'
import { LOST, VISITS } from '../parts/loss.js'
import { FULL_LOAD } from '../parts/overhead.js'
import { named, cost, costInSql, ofHook } from './requests.js'

/** By the width of the grid: get and set at each rate, and the worst of the others at any rate. */
export const losses: Figures = (read) => {
  const measured = read('loss')
  const settings = settingsOf(measured, GET_AND_SET.label).filter(
    (setting) => !setting.includes('fast cache'),
  )
  const distinct = (pattern: RegExp): string[] => [
    ...new Set(settings.map((setting) => pattern.exec(setting)?.[1] ?? '')),
  ]
  const rates = distinct(/^([\d,]+)\/s/)
  const widths = distinct(/width (\d+)$/).sort((a, b) => Number(a) - Number(b))
  return {
    rows: widths.map((width) => ({
      'width of the grid': width,
      ...Object.fromEntries(
        rates.map((rate) => [
          `get and set, ${rate}/s`,
          shown(
            measured.samples.spread(GET_AND_SET.label, `${rate}/s, width ${width}`, LOST),
            loss,
          ),
        ]),
      ),
      'one `append` per visit, at any rate': lostOf(
        measured,
        APPENDING.label,
        rates.map((rate) => `${rate}/s, width ${width}`),
      ),
      '**wide-cache**, at any rate': lostOf(
        measured,
        OURS.label,
        rates.map((rate) => `${rate}/s, width ${width}`),
      ),
    })),
  }
}

/** With the width of the first design, on a cache that answers at once. */
export const lossesOnFastCache: Figures = (read) => {
  const measured = read('loss')
  return {
    rows: settingsOf(measured, GET_AND_SET.label)
      .filter((setting) => setting.endsWith(`width ${FIRST_WIDTH}, fast cache`))
      .map((setting) => ({
        'visits/s': setting.replace(/\/s.*$/, ''),
        'get and set': shown(measured.samples.spread(GET_AND_SET.label, setting, LOST), loss),
        'one `append` per visit': lostOf(measured, APPENDING.label, [setting]),
        '**wide-cache**': lostOf(measured, OURS.label, [setting]),
      })),
  }
}

/** `0 of 12,345`: the visits lost and recorded in all of the settings. */
export function lostOf(
  { samples }: Measured,
  contender: string,
  settings: readonly string[],
): string {
  let [lost, recorded] = [0, 0]
  for (const setting of settings) {
    const all = samples.of(contender, setting, VISITS)
    for (const [at, percent] of samples.of(contender, setting, LOST).entries()) {
      lost += Math.round((percent / 100) * all[at]!)
      recorded += all[at]!
    }
  }
  return `${number(lost)} of ${number(recorded)}`
}

/** Faults of a moment: what one costs, as time of traffic. */
export const faults: Figures = (read) => {
  const { samples } = read('faults')
  return table(
    FAULTS.filter(({ seconds }) => seconds === undefined),
    (label, { name }) => lostText(samples, label, name),
  )
}

/** Outages: what each second of one costs. */
export const outageLosses: Figures = (read) => {
  const { samples } = read('faults')
  return table(
    FAULTS.filter(({ seconds }) => seconds !== undefined),
    (label, { name, seconds }) => lostText(samples, label, name, seconds),
  )
}

export const catchingUp: Figures = (read) => {
  const { samples } = read('faults')
  return table(FAULTS, (label, { name }) =>
    medianAndWorst(samples, label, name, CAUGHT_UP, (seconds) => seconds.toFixed(1)),
  )
}

function table(
  faults: readonly Fault[],
  cell: (contender: string, fault: Fault) => string,
): ReturnType<Figures> {
  return {
    rows: faults.map((fault) => ({
      fault: fault.name,
      ...Object.fromEntries(
        CONTENDERS.map(({ label }) => [
          label === WIDE_CACHE.label ? `**${label}**` : label,
          cell(label, fault),
        ]),
      ),
    })),
  }
}

/** `5,250 (9,900)`, `0`, `0; 0 (150) twice`: ms, of each second of an outage where it has some. */
function lostText(
  samples: Measured['samples'],
  contender: string,
  fault: string,
  seconds = 1,
): string {
  const text = (of: Metric): string =>
    medianAndWorst(samples, contender, fault, of, (ms) => number(Math.round(ms / seconds)))
  const twice = text(TWICE_MS)
  return twice === '0' ? text(LOST_MS) : `${text(LOST_MS)}; ${twice} twice`
}

function medianAndWorst(
  samples: Measured['samples'],
  contender: string,
  fault: string,
  of: Metric,
  show: (value: number) => string,
): string {
  const median = show(samples.spread(contender, fault, of).median)
  const worst = show(Math.max(...samples.of(contender, fault, of)))
  return median === worst ? median : `${median} (${worst})`
}

/** How many faults of each kind lost a visit of a living process, in the long run. */
export const lossBound: Figures = (read) => {
  const measured = read('faults', true)
  return { rows: settingsOf(measured, REPEATED).map((kind) => boundRow(measured, kind, [kind])) }
}

/** All kinds in one row, and another for those that were mixed, for a page with little place. */
export const lossBoundOfAll: Figures = (read) => {
  const measured = read('faults', true)
  const kinds = settingsOf(measured, REPEATED).filter((kind) => kind !== MIXED)
  return {
    rows: [
      boundRow(measured, `${kinds.length} kinds, one at a time`, kinds),
      boundRow(measured, MIXED, [MIXED]),
    ],
  }
}

function boundRow(
  { samples }: Measured,
  name: string,
  kinds: readonly string[],
): Record<string, string> {
  const each = kinds.map((kind) => ({
    faults: samples.of(REPEATED, kind, COUNTED)[0]!,
    losing: samples.of(REPEATED, kind, LOSING)[0]!,
  }))
  const all = each.reduce((sum, { faults, losing }) => ({
    faults: sum.faults + faults,
    losing: sum.losing + losing,
  }))
  // Kinds differ: the bound that holds for each is that of the kind with the fewest faults.
  const [highest] = each
    .map((one) => ({ text: bound(one), faults: one.faults, losing: one.losing }))
    .sort((a, b) => b.losing / b.faults - a.losing / a.faults || a.faults - b.faults)
  return {
    fault: name,
    'lost a visit of a living process': counted(all),
    'of each kind (95 % confidence)': highest!.text,
  }
}

/** Pairs of contenders in both parts. */
const BOTH: readonly (readonly [inFaults: string, inOverhead: overhead.Contender])[] = [
  ['wide-cache', overhead.COLLECTS],
  ['INSERT per visit', overhead.INSERT],
  ['get and set', overhead.GET_AND_SET],
  ['append per visit', overhead.APPEND],
  ['Redis list', overhead.REDIS],
  ['Redis hash, 60 s', overhead.HASH],
  ['10 s buffer', overhead.BUFFER],
  ['10 s buffer, row by row', overhead.UPDATES],
]
/** One for each sort of loss: with a process, with the cache, with the database. */
const TELLING = ['web process killed', 'cache restarted', `database away ${Math.max(...OUTAGES)} s`]

/** Those that a page with little place compares. */
const USUAL = ['wide-cache', 'INSERT per visit', 'Redis list', 'Redis hash, 60 s', '10 s buffer']

export const costsAndLosses: Figures = (read) => {
  const none = (): string => ''
  return {
    rows: [
      costAndLosses(read, overhead.EMPTY_HOOK, none),
      ...ofCounting(read, BOTH),
      ...overhead.ACCEPTED.map((contender) => costAndLosses(read, contender, none)),
    ],
  }
}

/** At 1,000 page views a second, a millisecond of traffic is a page view. */
export const costsAndLossesInShort: Figures = (read) => {
  const { samples } = read('faults')
  return {
    rows: BOTH.filter(([label]) => USUAL.includes(label)).map(([label, contender]) => ({
      'what runs with each request': named(contender.label),
      'SQL has': contender.keeps ?? '',
      ...Object.fromEntries(TELLING.map((fault) => [fault, lostText(samples, label, fault)])),
    })),
  }
}

function ofCounting(read: Read, contenders: typeof BOTH): Record<string, string>[] {
  const { samples } = read('faults')
  return contenders.map(([label, contender]) =>
    costAndLosses(read, contender, (fault) => lostText(samples, label, fault)),
  )
}

function costAndLosses(
  read: Read,
  contender: overhead.Contender,
  lossesIn: (fault: string) => string,
): Record<string, string> {
  const { samples } = read('overhead')
  const { label, keeps = '' } = contender
  return {
    'what runs with each request': named(label),
    'SQL has': keeps,
    'µs until in SQL': costInSql(samples, contender, FULL_LOAD),
    'µs over an empty hook': cost(samples, label, FULL_LOAD),
    'throughput, % of an empty hook': ofHook(samples, label, FULL_LOAD),
    ...Object.fromEntries(TELLING.map((fault) => [`${fault}: ms lost`, lossesIn(fault)])),
  }
}
