/** Figures of what happens behind the request: the parts `drain` and `stats`. */
import { number } from '../harness/table.js'
import { bySetting, columnsOf, settingsOf, share, shown, tableOf, type Tables } from './measured.js'
import * as drain from '../parts/drain.js'
import { CONTENDERS, HISTORIES, HOURS, MS, QUERIES, REFRESH, TOP } from '../parts/stats.js'

const { COLLECTOR, DIMENSIONS, NO_LEDGER, SPEED, SUMS } = drain
const AT_ONCE = ' at once'

export const tables: Tables = {
  collecting: bySetting('drain', COLLECTOR, (setting, samples) => ({
    'rows waiting': number(Number(setting)),
    'collected, rows/s': shown(samples.spread(COLLECTOR, setting, SPEED)),
    "with `keep: 'sums'`, rows/s": shown(samples.spread(SUMS, setting, SPEED)),
    '% of raw `INSERT`s': share(samples.ratio(COLLECTOR, drain.LIMIT, setting, SPEED)),
    '% of raw `INSERT`s that keep the same sums': share(
      samples.ratio(COLLECTOR, drain.WITH_SUMS, setting, SPEED),
    ),
    'times single `INSERT`s': shown(samples.ratio(COLLECTOR, drain.SINGLE, setting, SPEED)),
    'peak memory, MiB': shown(samples.spread(COLLECTOR, setting, drain.PEAK)),
    'heap afterwards, MiB': shown(samples.spread(COLLECTOR, setting, drain.HEAP)),
  })),

  /** With values of all ready-made dimensions, beside visits without. */
  'collecting-dimensions': bySetting('drain', DIMENSIONS, (setting, samples) => ({
    'rows waiting': number(Number(setting)),
    'without dimensions, rows/s': shown(samples.spread(COLLECTOR, setting, SPEED)),
    'with all ready-made ones, rows/s': shown(samples.spread(DIMENSIONS, setting, SPEED)),
    '%': share(samples.ratio(DIMENSIONS, COLLECTOR, setting, SPEED)),
  })),

  /** What it costs that each frame comes exactly once. */
  'exactly-once': bySetting('drain', NO_LEDGER, (setting, samples) => ({
    'rows waiting': number(Number(setting)),
    'collected, rows/s': shown(samples.spread(COLLECTOR, setting, SPEED)),
    'without the ledger, rows/s': shown(samples.spread(NO_LEDGER, setting, SPEED)),
    '%': share(samples.ratio(COLLECTOR, NO_LEDGER, setting, SPEED)),
  })),

  reading: bySetting('stats', REFRESH, (setting, samples) => {
    const [, visits, visitors] = /^([\d,]+) visits, ([\d,]+) visitors$/.exec(setting) ?? []
    if (!visits || !visitors) return undefined
    return {
      'visits in the window': visits,
      'visitors among them': visitors,
      ...columnsOf(CONTENDERS, (name) => [
        `\`${name}\`, ms`,
        shown(samples.spread(name, setting, MS)),
      ]),
    }
  }),

  /** The history and the top pages, beside what a site without sums asks. */
  'reading-history': bySetting('stats', HOURS, (setting, samples) =>
    setting.endsWith(AT_ONCE)
      ? undefined
      : {
          visits: setting.replace(/ visits.*$/, ''),
          ...columnsOf(HISTORIES, (name) => [
            `${name}, ms`,
            shown(samples.spread(name, setting, MS)),
          ]),
        },
  ),

  'reading-at-once': tableOf('stats', (measured) =>
    [REFRESH, HOURS, TOP].flatMap((name) =>
      settingsOf(measured, name, QUERIES).map((setting) => ({
        'who asks': setting,
        'for what': name,
        queries: shown(measured.samples.spread(name, setting, QUERIES)),
        'ms until the last is answered': shown(measured.samples.spread(name, setting, MS)),
      })),
    ),
  ),
}
