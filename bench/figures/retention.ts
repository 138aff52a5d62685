/** Figures of what is removed for its age: the part `retention`. */
import type { Metric } from '../harness/samples.js'
import { number } from '../harness/table.js'
import {
  BEHIND,
  BESIDE,
  BROUGHT,
  CALL,
  CLOSED,
  COLLECTOR,
  COLLECTS,
  FULL_SPEED,
  LONGEST,
  NOTHING,
  OVERDUE,
  P50,
  P99,
  REMOVED,
  REMOVES,
  RETENTION,
  SPEED,
} from '../retention/names.js'
import { bySetting, type Figures, type Measured, shown } from './measured.js'

/** All rows past their time, as fast as it can. */
export const retention = bySetting('retention', RETENTION, (setting, samples) => ({
  'rows in SQL': number(Number(setting)),
  'brought in full commits, rows/s': shown(samples.spread(COLLECTOR, setting, SPEED)),
  'removed, rows/s': shown(samples.spread(RETENTION, setting, SPEED)),
  'ms a call': shown(samples.spread(RETENTION, setting, CALL)),
}))

/** For 90 minutes, beside a collector that brings as much. */
export const retentionForLong: Figures = (read) => {
  const measured = read('retention', true)
  const { samples, result } = measured
  const sum = (of: Metric): number =>
    samples.of(COLLECTOR, REMOVES, of).reduce((all, one) => all + one, 0)
  const most = (of: Metric): string => number(Math.max(...samples.of(COLLECTOR, REMOVES, of)))
  return {
    rows: [
      {
        'visits/s': number(Number(result.settings['visits/s'])),
        'rows brought': number(sum(BROUGHT)),
        'rows removed': number(sum(REMOVED)),
        'days closed': most(CLOSED),
        'oldest row past its time, s': most(OVERDUE),
        'collector behind, s': most(BEHIND),
        'ms of the longest call': most(CALL),
      },
    ],
  }
}

/** Waits of others who commit meanwhile, at once and in each minute of the long run. */
export const besideRetention: Figures = (read) => {
  const of = (measured: Measured, setting: string): Record<string, string> => {
    const { samples } = measured
    return {
      'commits of others beside': setting,
      'p50, ms': shown(samples.spread(BESIDE, setting, P50)),
      'p99, ms': shown(samples.spread(BESIDE, setting, P99)),
      'longest of a minute, ms': shown(samples.spread(BESIDE, setting, LONGEST)),
      'longest of all, ms': number(Math.max(...samples.of(BESIDE, setting, LONGEST))),
    }
  }
  const [once, forLong] = [read('retention'), read('retention', true)]
  return {
    rows: [of(once, NOTHING), of(once, FULL_SPEED), of(forLong, COLLECTS), of(forLong, REMOVES)],
  }
}
