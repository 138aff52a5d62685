/** What happens behind the request: the parts `drain` and `stats`. */
import { number } from '../harness/table.js'
import { type Figures, metric, settingsOf, share, shown } from './measured.js'

const COLLECTOR = 'collector'
const RAW = 'raw INSERTs of 1,000'
const WITH_SUMS = 'raw INSERTs and their sums'
const SINGLE = 'single INSERTs'
const RETENTION = 'retention'
const SPEED = metric('rows/s')

const REFRESH = 'activity.stats()'
const READERS = [REFRESH, 'COUNT(*)', 'COUNT(DISTINCT visitor)']
const MS = metric('ms')

export const collecting: Figures = (read) => {
  const measured = read('drain')
  const { samples } = measured
  return {
    rows: settingsOf(measured, COLLECTOR).map((setting) => ({
      'rows waiting': number(Number(setting)),
      'collected, rows/s': shown(samples.spread(COLLECTOR, setting, SPEED)),
      '% of raw `INSERT`s': share(samples.ratio(COLLECTOR, RAW, setting, SPEED)),
      '% of raw `INSERT`s that keep the same sums': share(
        samples.ratio(COLLECTOR, WITH_SUMS, setting, SPEED),
      ),
      'times single `INSERT`s': shown(samples.ratio(COLLECTOR, SINGLE, setting, SPEED)),
      'peak memory, MiB': shown(samples.spread(COLLECTOR, setting, metric('peak RSS, MiB'))),
      'heap afterwards, MiB': shown(
        samples.spread(COLLECTOR, setting, metric('heap after gc, MiB')),
      ),
    })),
  }
}

export const retention: Figures = (read) => {
  const measured = read('drain')
  const { samples } = measured
  return {
    rows: settingsOf(measured, RETENTION).map((setting) => ({
      'rows in SQL': number(Number(setting)),
      'removed, rows/s': shown(samples.spread(RETENTION, setting, SPEED)),
      'ms a call': shown(samples.spread(RETENTION, setting, metric('ms a call'))),
    })),
  }
}

export const reading: Figures = (read) => {
  const measured = read('stats')
  const windows = settingsOf(measured, REFRESH).flatMap((setting) => {
    const [, visits, visitors] = /^([\d,]+) visits, ([\d,]+) visitors$/.exec(setting) ?? []
    return visits && visitors ? [{ setting, visits, visitors }] : []
  })
  return {
    rows: windows.map(({ setting, visits, visitors }) => ({
      'visits in the window': visits,
      'visitors among them': visitors,
      ...Object.fromEntries(
        READERS.map((contender) => [
          `\`${contender}\`, ms`,
          shown(measured.samples.spread(contender, setting, MS)),
        ]),
      ),
    })),
  }
}

export const readingAtOnce: Figures = (read) => {
  const measured = read('stats')
  return {
    rows: settingsOf(measured, REFRESH)
      .filter((setting) => setting.endsWith('at once'))
      .map((setting) => ({
        'who asks': setting,
        queries: shown(measured.samples.spread(REFRESH, setting, metric('queries'))),
        'ms until the last is answered': shown(measured.samples.spread(REFRESH, setting, MS)),
      })),
  }
}
