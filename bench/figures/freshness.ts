/** Figures of how soon visits are in the figures: the part `freshness`. */
import { number } from '../harness/table.js'
import { type Figures, metric, settingsOf } from './measured.js'

const WIDE_CACHE = 'wide-cache'
const IDLE = ' idle processes'

export const freshness: Figures = (read) => {
  const measured = read('freshness')
  const seconds = (setting: string, name: string): string =>
    number(measured.samples.spread(WIDE_CACHE, setting, metric(name)).median)
  return {
    rows: settingsOf(measured, WIDE_CACHE)
      .filter((setting) => setting.includes('/s'))
      .map((setting) => ({
        'processes, visits in all': setting,
        'p50, s': seconds(setting, 'p50, s'),
        'p95, s': seconds(setting, 'p95, s'),
        'max, s': seconds(setting, 'max, s'),
      })),
  }
}

export const idle: Figures = (read) => {
  const measured = read('freshness')
  const shown = (setting: string, name: string): string =>
    number(measured.samples.spread(WIDE_CACHE, setting, metric(name)).median)
  return {
    rows: settingsOf(measured, WIDE_CACHE)
      .filter((setting) => setting.endsWith(IDLE))
      .map((setting) => ({
        'without visits': setting,
        'SQL statements/s': shown(setting, 'SQL statements/s'),
        'pipelined cache reads/s': shown(setting, 'pipelined cache reads/s'),
        'keys read/s': shown(setting, 'keys read/s'),
      })),
  }
}
