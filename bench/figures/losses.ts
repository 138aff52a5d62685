/** Figures of losses, beside the cost of a request: the parts `loss` and `faults`. */
import { bound, FOR_LONG, LOST as LIVING_LOST, RECORDED, type Seen } from '../faults/bound.js'
import { CONTENDERS, WIDE_CACHE } from '../faults/contenders.js'
import { FAULTS } from '../faults/faults.js'
import {
  APPEND as APPENDING,
  GET_AND_SET,
  FIRST_WIDTH,
  WIDE_CACHE as OURS,
} from '../loss/batches.js'
import { number } from '../harness/table.js'
import * as overhead from '../overhead/throughput.js'
import { type Figures, loss, type Measured, metric, settingsOf, share, shown } from './measured.js'
import { contenderName, HELLO } from './requests.js'

const LOST = metric('lost, % of recorded')
const TWICE = metric('duplicated, % of recorded')
const CAUGHT_UP = metric('s until caught up')

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
      'one `append` per visit, at any rate': most(
        measured,
        APPENDING.label,
        rates.map((rate) => `${rate}/s, width ${width}`),
      ),
      '**wide-cache**, at any rate': most(
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
        'one `append` per visit': most(measured, APPENDING.label, [setting]),
        '**wide-cache**': most(measured, OURS.label, [setting]),
      })),
  }
}

function most({ samples }: Measured, contender: string, settings: readonly string[]): string {
  return loss(Math.max(...settings.flatMap((setting) => samples.of(contender, setting, LOST))))
}

export const faults: Figures = (read) => {
  const measured = read('faults')
  return {
    rows: FAULTS.map(({ name }) => ({
      fault: name,
      ...Object.fromEntries(
        CONTENDERS.map(({ label }) => [column(label), lostIn(measured, label, name)]),
      ),
    })),
  }
}

/** `0.55`, and `0, 0.02 twice`. */
function lostIn({ samples }: Measured, contender: string, fault: string): string {
  const twice = samples.spread(contender, fault, TWICE)
  const lost = shown(samples.spread(contender, fault, LOST), loss)
  return twice.high === 0 ? lost : `${lost}; ${shown(twice, loss)} twice`
}

export const catchingUp: Figures = (read) => {
  const { samples } = read('faults')
  const seconds = (label: string, fault: string): string =>
    shown(samples.spread(label, fault, CAUGHT_UP), (value) => value.toFixed(1))
  return {
    rows: FAULTS.map(({ name }) => ({
      fault: name,
      ...Object.fromEntries(CONTENDERS.map(({ label }) => [column(label), seconds(label, name)])),
    })),
  }
}

function column(label: string): string {
  return label === WIDE_CACHE.label ? `**${label}**` : label
}

/**
 * Upper bounds of the loss of wide-cache, by fault and in all. More visits give a closer bound, so
 * they come from the long runs.
 */
export const lossBound: Figures = (read) => {
  const seen = ofLiving(read('faults', true))
  return { rows: [...seen, ['all of these', sumOf(seen)] as const].map(boundRow) }
}

/** The last row of that table, for a page that has no place for more. */
export const lossBoundOfAll: Figures = (read) => ({
  rows: [boundRow(['all faults', sumOf(ofLiving(read('faults', true)))])],
})

function ofLiving(measured: Measured): (readonly [fault: string, seen: Seen])[] {
  const { samples } = measured
  return settingsOf(measured, FOR_LONG).map((fault) => {
    const sum = (of: Parameters<typeof samples.of>[2]): number =>
      samples.of(FOR_LONG, fault, of).reduce((a, b) => a + b, 0)
    return [fault, { recorded: sum(RECORDED), lost: sum(LIVING_LOST) }]
  })
}

function sumOf(seen: readonly (readonly [string, Seen])[]): Seen {
  return {
    recorded: seen.reduce((sum, [, { recorded }]) => sum + recorded, 0),
    lost: seen.reduce((sum, [, { lost }]) => sum + lost, 0),
  }
}

function boundRow([fault, seen]: readonly [string, Seen]): Record<string, string> {
  return {
    fault,
    'visits of processes that lived': number(seen.recorded),
    lost: number(seen.lost),
    'upper bound of the loss (95 % confidence)': bound(seen),
  }
}

/** Pairs of contenders in both parts. */
const BOTH: readonly (readonly [inFaults: string, inOverhead: overhead.Contender])[] = [
  ['wide-cache', overhead.WIDE_CACHE],
  ['INSERT per visit', overhead.INSERT],
  ['get and set', overhead.GET_AND_SET],
  ['append per visit', overhead.APPEND],
  ['Redis list', overhead.REDIS],
  ['10 s buffer', overhead.BUFFER],
]
/** One for each sort of loss: with a process, with the cache, with the database. */
const TELLING = ['web process killed', 'cache restarted', 'database restarted']

export const costsAndLosses: Figures = (read) => {
  const [cost, lost] = [read('overhead'), read('faults')]
  const row = (contender: string, lossesIn: (fault: string) => string) => ({
    'what runs with each request': contenderName(contender),
    'CPU, µs a request': shown(cost.samples.spread(contender, HELLO, overhead.CPU)),
    'throughput, % of an empty hook': share(
      cost.samples.ratio(contender, overhead.EMPTY_HOOK.label, HELLO, overhead.RATE),
    ),
    ...Object.fromEntries(TELLING.map((fault) => [`${fault}: lost, %`, lossesIn(fault)])),
  })
  return {
    rows: [
      row(overhead.EMPTY_HOOK.label, () => ''),
      ...BOTH.map(([label, { label: contender }]) =>
        row(contender, (fault) => lostIn(lost, label, fault)),
      ),
      ...overhead.ACCEPTED.map(({ label }) => row(label, () => '')),
    ],
  }
}
