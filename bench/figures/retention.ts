/** Figures of what is removed for its age: the part `retention`. */
import type { Metric } from '../harness/samples.js'
import { sum } from '../harness/statistics.js'
import { number } from '../harness/table.js'
import * as names from '../retention/names.js'
import { bySetting, columns, type Measured, shown, tableOf, type Tables } from './measured.js'

const { BESIDE, COLLECTOR, REMOVES, RETENTION } = names

/** Waits of others who commit. */
const waits = ({ samples }: Measured, setting: string): Record<string, string> => ({
  'commits of others beside': setting,
  ...columns(samples, BESIDE, setting, {
    'p50, ms': names.P50,
    'p99, ms': names.P99,
    'longest of a minute, ms': names.LONGEST,
  }),
  'longest of all, ms': number(Math.max(...samples.of(BESIDE, setting, names.LONGEST))),
})

export const tables: Tables = {
  /** All rows past their time, as fast as it can. */
  retention: bySetting('retention', RETENTION, (setting, samples) => ({
    'rows in SQL': number(Number(setting)),
    'brought in full commits, rows/s': shown(samples.spread(COLLECTOR, setting, names.SPEED)),
    'removed, rows/s': shown(samples.spread(RETENTION, setting, names.SPEED)),
    'ms a call': shown(samples.spread(RETENTION, setting, names.CALL)),
  })),

  /** For 90 minutes, beside a collector that brings as much. */
  'retention-for-long': tableOf(
    'retention',
    ({ samples, result }) => {
      const of = (metric: Metric) => samples.of(COLLECTOR, REMOVES, metric)
      const most = (metric: Metric): string => number(Math.max(...of(metric)))
      return [
        {
          'visits/s': number(Number(result.settings['visits/s'])),
          'rows brought': number(sum(of(names.BROUGHT))),
          'rows removed': number(sum(of(names.REMOVED))),
          'days closed': most(names.CLOSED),
          'oldest row past its time, s': most(names.OVERDUE),
          'collector behind, s': most(names.BEHIND),
          'ms of the longest call': most(names.CALL),
        },
      ]
    },
    true,
  ),

  /** Meanwhile, at once and in each minute of the long run. */
  'beside-retention': (read) => ({
    rows: [
      ...[names.NOTHING, names.FULL_SPEED].map((setting) => waits(read('retention'), setting)),
      ...[names.COLLECTS, REMOVES].map((setting) => waits(read('retention', true), setting)),
    ],
  }),
}
