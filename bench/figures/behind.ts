/** Figures of what happens behind the request: the parts `drain` and `stats`. */
import { number } from '../harness/table.js'
import { bySetting, type Figures, settingsOf, share, shown } from './measured.js'
import {
  COLLECTOR,
  DIMENSIONS,
  HEAP,
  LIMIT,
  NO_LEDGER,
  PEAK,
  SINGLE,
  SPEED,
  SUMS,
  WITH_SUMS,
} from '../parts/drain.js'
import { CONTENDERS, HISTORIES, HOURS, MS, QUERIES, REFRESH, TOP } from '../parts/stats.js'

const AT_ONCE = ' at once'

export const collecting = bySetting('drain', COLLECTOR, (setting, samples) => ({
  'rows waiting': number(Number(setting)),
  'collected, rows/s': shown(samples.spread(COLLECTOR, setting, SPEED)),
  "with `keep: 'sums'`, rows/s": shown(samples.spread(SUMS, setting, SPEED)),
  '% of raw `INSERT`s': share(samples.ratio(COLLECTOR, LIMIT, setting, SPEED)),
  '% of raw `INSERT`s that keep the same sums': share(
    samples.ratio(COLLECTOR, WITH_SUMS, setting, SPEED),
  ),
  'times single `INSERT`s': shown(samples.ratio(COLLECTOR, SINGLE, setting, SPEED)),
  'peak memory, MiB': shown(samples.spread(COLLECTOR, setting, PEAK)),
  'heap afterwards, MiB': shown(samples.spread(COLLECTOR, setting, HEAP)),
}))

/** What it costs that each frame comes exactly once. */
export const exactlyOnce = bySetting('drain', NO_LEDGER, (setting, samples) => ({
  'rows waiting': number(Number(setting)),
  'collected, rows/s': shown(samples.spread(COLLECTOR, setting, SPEED)),
  'without the ledger, rows/s': shown(samples.spread(NO_LEDGER, setting, SPEED)),
  '%': share(samples.ratio(COLLECTOR, NO_LEDGER, setting, SPEED)),
}))

/** With values of all ready-made dimensions, beside visits without. */
export const collectingDimensions = bySetting('drain', DIMENSIONS, (setting, samples) => ({
  'rows waiting': number(Number(setting)),
  'without dimensions, rows/s': shown(samples.spread(COLLECTOR, setting, SPEED)),
  'with all ready-made ones, rows/s': shown(samples.spread(DIMENSIONS, setting, SPEED)),
  '%': share(samples.ratio(DIMENSIONS, COLLECTOR, setting, SPEED)),
}))

export const reading = bySetting('stats', REFRESH, (setting, samples) => {
  const [, visits, visitors] = /^([\d,]+) visits, ([\d,]+) visitors$/.exec(setting) ?? []
  if (!visits || !visitors) return undefined
  return {
    'visits in the window': visits,
    'visitors among them': visitors,
    ...Object.fromEntries(
      CONTENDERS.map((name) => [`\`${name}\`, ms`, shown(samples.spread(name, setting, MS))]),
    ),
  }
})

/** The history and the top pages, beside what a site without sums asks. */
export const readingHistory = bySetting('stats', HOURS, (setting, samples) =>
  setting.endsWith(AT_ONCE)
    ? undefined
    : {
        visits: setting.replace(/ visits.*$/, ''),
        ...Object.fromEntries(
          HISTORIES.map((name) => [`${name}, ms`, shown(samples.spread(name, setting, MS))]),
        ),
      },
)

export const readingAtOnce: Figures = (read) => {
  const measured = read('stats')
  return {
    rows: [REFRESH, HOURS, TOP].flatMap((name) =>
      settingsOf(measured, name)
        .filter((setting) => setting.endsWith(AT_ONCE))
        .map((setting) => ({
          'who asks': setting,
          'for what': name,
          queries: shown(measured.samples.spread(name, setting, QUERIES)),
          'ms until the last is answered': shown(measured.samples.spread(name, setting, MS)),
        })),
    ),
  }
}
