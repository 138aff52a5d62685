/** Figures of losses, beside the cost of a request: the parts `loss` and `faults`. */
import { bound, COUNTED, counted, LOSING, MIXED, REPEATED } from '../faults/bound.js'
import { atBusyRate } from '../faults/busy.js'
import { CONTENDERS, WIDE_CACHE } from '../faults/contenders.js'
import { type Fault, FAULTS, OUTAGES } from '../faults/faults.js'
import { CAUGHT_UP, LOST as LOST_MS, TWICE as TWICE_MS } from '../faults/measures.js'
import type { Metric, Samples } from '../harness/samples.js'
import { sum } from '../harness/statistics.js'
import * as batches from '../loss/batches.js'
import { number } from '../harness/table.js'
import * as overhead from '../overhead/contenders.js'
import {
  columnsOf,
  type Figures,
  loss,
  type Measured,
  type Read,
  settingsOf,
  shown,
  tableOf,
  type Tables,
} from './measured.js'
import { LOST, VISITS } from '../parts/loss.js'
import { FULL_LOAD } from '../parts/overhead.js'
import { costs, named } from './requests.js'

/** Visits that others than get and set have lost, in all of the settings. */
function others(
  measured: Measured,
  settings: readonly string[],
  rates = '',
): Record<string, string> {
  const [append, ours] = [batches.APPEND, batches.WIDE_CACHE]
  return {
    [`one \`append\` per visit${rates}`]: lostOf(measured, append.label, settings),
    [`**wide-cache**${rates}`]: lostOf(measured, ours.label, settings),
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

/** A row for each fault, and a column for each contender. */
const byFault = (
  isShown: (fault: Fault) => boolean,
  cell: (samples: Samples, contender: string, fault: Fault) => string,
): Figures =>
  tableOf('faults', ({ samples }) =>
    FAULTS.filter(isShown).map((fault) => ({
      fault: fault.name,
      ...columnsOf(CONTENDERS, ({ label }) => [
        label === WIDE_CACHE.label ? `**${label}**` : label,
        cell(samples, label, fault),
      ]),
    })),
  )

/** `5,250 (9,900)`, `0`, `0; 0 (150) twice`: ms, of each second of an outage where it has some. */
function lostText(samples: Samples, contender: string, { name, seconds = 1 }: Fault): string {
  const text = (of: Metric): string =>
    medianAndWorst(samples, contender, name, of, (ms) => number(Math.round(ms / seconds)))
  const twice = text(TWICE_MS)
  return twice === '0' ? text(LOST_MS) : `${text(LOST_MS)}; ${twice} twice`
}

/** The fault at 1,000 visits a second, if it was tried with that. */
function busiest(measured: Measured, contender: string, fault: Fault): Fault {
  const name = atBusyRate(fault.name)
  return settingsOf(measured, contender).includes(name) ? { ...fault, name } : fault
}

function medianAndWorst(
  samples: Samples,
  contender: string,
  fault: string,
  of: Metric,
  show: (value: number) => string,
): string {
  const median = show(samples.spread(contender, fault, of).median)
  const worst = show(Math.max(...samples.of(contender, fault, of)))
  return median === worst ? median : `${median} (${worst})`
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
  // Kinds differ: the bound that holds for each is that of the kind with the fewest faults.
  const [highest] = each.toSorted(
    (a, b) => b.losing / b.faults - a.losing / a.faults || a.faults - b.faults,
  )
  return {
    fault: name,
    'lost a visit of a living process': counted({
      faults: sum(each.map(({ faults }) => faults)),
      losing: sum(each.map(({ losing }) => losing)),
    }),
    'of each kind (95 % confidence)': bound(highest!),
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

/** Columns of what telling faults cost; in all of an outage, not in each of its seconds. */
function losses(suffix: string, lossIn: (fault: Fault) => string): Record<string, string> {
  return columnsOf(TELLING, (name) => [
    name + suffix,
    lossIn({ ...FAULTS.find((fault) => fault.name === name)!, seconds: 1 }),
  ])
}

function costAndLosses(
  read: Read,
  contender: overhead.Contender,
  lossIn: (fault: Fault) => string = () => '',
): Record<string, string> {
  return {
    'what runs with each request': named(contender.label),
    ...costs(read('overhead').samples, contender, FULL_LOAD),
    ...losses(': ms lost', lossIn),
  }
}

export const tables: Tables = {
  'costs-and-losses': (read) => {
    const { samples } = read('faults')
    return {
      rows: [
        costAndLosses(read, overhead.EMPTY_HOOK),
        ...BOTH.map(([label, contender]) =>
          costAndLosses(read, contender, (fault) => lostText(samples, label, fault)),
        ),
        ...overhead.ACCEPTED.map((contender) => costAndLosses(read, contender)),
      ],
    }
  },

  /** At 1,000 page views a second, a millisecond of traffic is a page view. */
  'costs-and-losses-in-short': tableOf('faults', (measured) =>
    BOTH.filter(([label]) => USUAL.includes(label)).map(([label, contender]) => ({
      'what runs with each request': named(contender.label),
      'SQL has': contender.keeps ?? '',
      ...losses('', (fault) => lostText(measured.samples, label, busiest(measured, label, fault))),
    })),
  ),

  /** By the width of the grid: get and set at each rate, and the others at any rate. */
  losses: tableOf('loss', (measured) => {
    const { label } = batches.GET_AND_SET
    const settings = settingsOf(measured, label).filter((one) => !one.includes('fast cache'))
    const distinct = (pattern: RegExp): string[] => [
      ...new Set(settings.map((setting) => pattern.exec(setting)?.[1] ?? '')),
    ]
    const rates = distinct(/^([\d,]+)\/s/)
    const widths = distinct(/width (\d+)$/).sort((a, b) => Number(a) - Number(b))
    return widths.map((width) => {
      const settingOf = (rate: string): string => `${rate}/s, width ${width}`
      return {
        'width of the grid': width,
        ...columnsOf(rates, (rate) => [
          `get and set, ${rate}/s`,
          shown(measured.samples.spread(label, settingOf(rate), LOST), loss),
        ]),
        ...others(measured, rates.map(settingOf), ', at any rate'),
      }
    })
  }),

  /** With the width of the first design, on a cache that answers at once. */
  'losses-fast-cache': tableOf('loss', (measured) =>
    settingsOf(measured, batches.GET_AND_SET.label)
      .filter((setting) => setting.endsWith(`width ${batches.FIRST_WIDTH}, fast cache`))
      .map((setting) => ({
        'visits/s': setting.replace(/\/s.*$/, ''),
        'get and set': shown(
          measured.samples.spread(batches.GET_AND_SET.label, setting, LOST),
          loss,
        ),
        ...others(measured, [setting]),
      })),
  ),

  /** Faults of a moment: what one costs, as time of traffic. */
  faults: byFault(({ seconds }) => seconds === undefined, lostText),

  /** Outages: what each second of one costs. */
  'outage-losses': byFault(({ seconds }) => seconds !== undefined, lostText),

  'catching-up': byFault(
    () => true,
    (samples, label, { name }) =>
      medianAndWorst(samples, label, name, CAUGHT_UP, (seconds) => seconds.toFixed(1)),
  ),

  /** How many faults of each kind lost a visit of a living process, in the long run. */
  'loss-bound': tableOf(
    'faults',
    (measured) => settingsOf(measured, REPEATED).map((kind) => boundRow(measured, kind, [kind])),
    true,
  ),

  /** All kinds in one row, and another for those that were mixed, for a page with little place. */
  'loss-bound-of-all': tableOf(
    'faults',
    (measured) => {
      const kinds = settingsOf(measured, REPEATED).filter((kind) => kind !== MIXED)
      return [
        boundRow(measured, `${kinds.length} kinds, one at a time`, kinds),
        boundRow(measured, MIXED, [MIXED]),
      ]
    },
    true,
  ),
}
