/** Figures of what happens behind the request: the parts `drain` and `stats`. */
import { number } from '../harness/table.js'
import { bySetting, type Figures, metric, settingsOf, share, shown } from './measured.js'

const COLLECTOR = 'collector'
const DIMENSIONS = 'collector, with dimensions'
const SUMS = 'collector, with sums only'
const NO_LEDGER = 'collector, without the ledger'
const RAW = 'raw INSERTs of 1,000'
const WITH_SUMS = 'raw INSERTs and their sums'
const SINGLE = 'single INSERTs'
const SPEED = metric('rows/s')

const REFRESH = 'activity.stats()'
const READERS = [REFRESH, 'COUNT(*)', 'COUNT(DISTINCT visitor)']
const MS = metric('ms')
const HISTORY = 'history(), 24 hours'
const TOP = "top('page') of a day"
const HISTORIES = [HISTORY, 'history(), 30 days', TOP, 'GROUP BY hour', 'GROUP BY page']
const AT_ONCE = ' at once'

export const collecting = bySetting('drain', COLLECTOR, (setting, samples) => ({
  'rows waiting': number(Number(setting)),
  'collected, rows/s': shown(samples.spread(COLLECTOR, setting, SPEED)),
  "with `keep: 'sums'`, rows/s": shown(samples.spread(SUMS, setting, SPEED)),
  '% of raw `INSERT`s': share(samples.ratio(COLLECTOR, RAW, setting, SPEED)),
  '% of raw `INSERT`s that keep the same sums': share(
    samples.ratio(COLLECTOR, WITH_SUMS, setting, SPEED),
  ),
  'times single `INSERT`s': shown(samples.ratio(COLLECTOR, SINGLE, setting, SPEED)),
  'peak memory, MiB': shown(samples.spread(COLLECTOR, setting, metric('peak RSS, MiB'))),
  'heap afterwards, MiB': shown(samples.spread(COLLECTOR, setting, metric('heap after gc, MiB'))),
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
      READERS.map((name) => [`\`${name}\`, ms`, shown(samples.spread(name, setting, MS))]),
    ),
  }
})

/** The history and the top pages, beside what a site without sums asks. */
export const readingHistory = bySetting('stats', HISTORY, (setting, samples) =>
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
    rows: [REFRESH, HISTORY, TOP].flatMap((name) =>
      settingsOf(measured, name)
        .filter((setting) => setting.endsWith(AT_ONCE))
        .map((setting) => ({
          'who asks': setting,
          'for what': name,
          queries: shown(measured.samples.spread(name, setting, metric('queries'))),
          'ms until the last is answered': shown(measured.samples.spread(name, setting, MS)),
        })),
    ),
  }
}
