/** Metrics of a wide cache: those of its name, from SQL, and those of its process. */
import { counter, gauge, type Reading, readingsOf } from '../../metrics/metric.js'
import type { ErrorCounts } from '../../connections/counting.js'
import { cacheErrorReading, databaseErrorReadings } from '../../connections/error-metrics.js'
import type { Run } from '../ledger/grid-record.js'
import type { WriterFigures } from '../writer/writer.js'
import type { GridFigures, NameState } from './name-state.js'
import type { DrainFigures } from '../collector/drain-turns.js'

/** From SQL alone, so the same from every process. */
export const NAME_METRICS = {
  issued: counter(
    'issued',
    '{row}',
    'Rows that were recorded, dropped ones too, as far as SQL has heard.',
  ),
  committed: counter('committed', '{row}', 'Rows that are in their tables.'),
  duplicate: counter('duplicate', '{row}', 'Rows that reached SQL again and were rejected.'),
  dropped: counter(
    'dropped',
    '{row}',
    'Rows that their processes refused, as far as SQL has heard.',
  ),
  lost: counter('lost', '{row}', 'Rows that never reached SQL and that no process or cell holds.'),
  outstanding: gauge('outstanding_rows', '{row}', 'Rows in flight to SQL.'),
  owed: gauge(
    'owed_rows',
    '{row}',
    'Rows missing of vanished processes. They are lost, unless such a process comes back.',
  ),
  quarantined: gauge(
    'quarantined_rows',
    '{row}',
    'Rows that SQL refused and that are not in their tables.',
  ),
  quarantineFrames: gauge('quarantine_frames', '{frame}', 'Frames in wide_cache_quarantine.'),
  quarantineUnreadable: gauge(
    'quarantine_unreadable_pieces',
    '{piece}',
    'Pieces of bytes in wide_cache_quarantine that are no frame.',
  ),
  writers: gauge('writers', '{writer}', 'Processes that record this name and have not vanished.'),
  grids: gauge('grids', '{grid}', 'Grids that collectors with this cache drain.'),
  lag: gauge(
    'lag_seconds',
    's',
    'Age of the moment up to which SQL has all rows, of the slowest grid.',
  ),
  layersWaiting: gauge(
    'layers_waiting',
    '{layer}',
    'Layers that have ended and are not drained, of the slowest grid. Some always wait.',
  ),
  lastRunAge: gauge(
    'last_run_age_seconds',
    's',
    'Seconds since the last collecting run that succeeded.',
  ),
  lastRunRows: gauge('last_run_rows', '{row}', 'Rows that the last collecting run committed.'),
  lastRunSeconds: gauge(
    'last_run_duration_seconds',
    's',
    'Seconds that the last collecting run took.',
  ),
} as const

/** Metrics of one process. Its counters begin at zero when it starts. */
export const PROCESS_METRICS = {
  issued: counter('process_issued', '{row}', 'Rows that were recorded, dropped ones too.'),
  dropped: counter('process_dropped', '{row}', 'Rows that were dropped.'),
  outboxFrames: gauge('process_outbox_frames', '{frame}', 'Frames that its outbox holds.'),
  outboxBytes: gauge('process_outbox_bytes', 'By', 'Memory that these frames take.'),
  unconfirmedAge: gauge(
    'process_unconfirmed_age_seconds',
    's',
    'Age of the oldest frame that SQL has not confirmed; 0 if all are.',
  ),
  directCommits: counter(
    'process_direct_commits',
    '{transaction}',
    'Transactions of its direct commits.',
  ),
  directRows: counter(
    'process_direct_rows',
    '{row}',
    'Rows that its direct commits brought to SQL.',
  ),
  drains: counter('process_drains', '{drain}', 'Drains that succeeded.'),
  drainFailures: counter('process_drain_failures', '{drain}', 'Drains that failed.'),
  drainedRows: counter('process_drained_rows', '{row}', 'Rows that its drains committed.'),
  drainSeconds: counter('process_drain_seconds', 's', 'Seconds that its drains took.'),
  drainBusySeconds: counter(
    'process_drain_busy_seconds',
    's',
    'Seconds of its drains in which the event loop was busy, with requests too.',
  ),
  figuresAge: gauge(
    'process_figures_age_seconds',
    's',
    'Seconds since the figures from SQL on this page were read.',
  ),
} as const

/**
 * Returns the readings of a name, from its state in SQL, `ageMs` after that was read.
 *
 * @param grids those that collectors with this process's cache drain
 */
export function nameReadings(
  { name, readAt, ledger, quarantine }: NameState,
  grids: readonly GridFigures[],
  ageMs: number,
): Reading[] {
  const run = lastRunOf(grids)
  return readingsOf(
    NAME_METRICS,
    { name },
    {
      issued: ledger.issued,
      committed: ledger.committed,
      duplicate: ledger.duplicate,
      dropped: ledger.dropped,
      lost: ledger.lost,
      outstanding: ledger.outstanding,
      owed: ledger.owed,
      quarantined: ledger.quarantined,
      quarantineFrames: quarantine.frames,
      quarantineUnreadable: quarantine.unreadable,
      writers: ledger.writersSeen,
      grids: grids.length,
      lag: seconds(lagMsOf(grids, ageMs)),
      layersWaiting: greatest(grids.map(({ layersWaiting }) => layersWaiting)),
      lastRunAge: seconds(run && Math.max(0, readAt - run.at) + ageMs),
      lastRunRows: run?.rows,
      lastRunSeconds: seconds(run?.ms),
    },
  )
}

/**
 * Returns the lag of the slowest grid, in milliseconds, `ageMs` after the grids were read;
 * `undefined`: there are none.
 */
export function lagMsOf(grids: readonly GridFigures[], ageMs: number): number | undefined {
  const lag = greatest(grids.map(({ lagMs }) => lagMs))
  return lag === undefined ? undefined : lag + ageMs
}

/** Returns the last run of some grids. */
function lastRunOf(grids: readonly GridFigures[]): Run | undefined {
  const runs = grids.flatMap(({ run }) => run ?? [])
  return runs.sort((a, b) => b.at - a.at)[0]
}

/** Figures of one process. */
export interface ProcessFigures {
  readonly writer: WriterFigures
  /** `undefined`, this and the following two: another engine counts them. */
  readonly drained?: DrainFigures
  readonly cacheErrors?: ErrorCounts
  readonly databaseErrors?: ErrorCounts
  /** Age of the figures from SQL, in milliseconds; `undefined`: there are none. */
  readonly figuresAgeMs: number | undefined
}

export function processReadings(
  name: string,
  { writer, drained, cacheErrors, databaseErrors, figuresAgeMs }: ProcessFigures,
): Reading[] {
  return [
    ...readingsOf(
      PROCESS_METRICS,
      { name },
      {
        issued: writer.issued,
        dropped: writer.dropped,
        outboxFrames: writer.outboxFrames,
        outboxBytes: writer.outboxBytes,
        unconfirmedAge: seconds(writer.unconfirmedMs),
        directCommits: writer.directCommits,
        directRows: writer.directRows,
        drains: drained?.drains,
        drainFailures: drained?.failures,
        drainedRows: drained?.rows,
        drainSeconds: seconds(drained?.ms),
        drainBusySeconds: seconds(drained?.busyMs),
        figuresAge: seconds(figuresAgeMs),
      },
    ),
    ...(cacheErrors ? [cacheErrorReading(name, cacheErrors)] : []),
    ...(databaseErrors ? databaseErrorReadings(name, databaseErrors) : []),
  ]
}

function greatest(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.max(...numbers)
}

function seconds<T extends number | undefined>(ms: T): number | T {
  return ms === undefined ? ms : ms / 1000
}
