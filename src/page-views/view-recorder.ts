import { Connections } from '../connections/connections.js'
import { secretOf } from '../database/identity.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { BurstLogger, type Logger } from '../support/logger.js'
import { Engine } from '../wide-cache/engine.js'
import { EngineRecorder } from '../wide-cache/engine-recorder.js'
import type { EngineSettings } from '../wide-cache/engine-settings.js'
import { Engines } from '../wide-cache/engines.js'
import type { CloseReport } from '../wide-cache/writer/closing.js'
import { type Measure, measureName, MEASURES } from './measures.js'
import { IncomingViews } from './incoming-views.js'

/** The rows that views become, and the object that records them. */
export interface ViewRows<View, Row> {
  /** Class of the object, and the name that it was made with, for errors. */
  readonly what: 'Activity' | 'Hits'
  readonly name: string
  /** Full name of the measure `served`. */
  readonly gridName: string
  /** Measure that the figures are of. */
  readonly count: Measure
  readonly logger: Logger
  /** Returns the settings of the engine of a measure. */
  readonly engineOf: (measure: Measure, logger: BurstLogger) => EngineSettings<Row>
  readonly rowOf: (time: number, visitor: Buffer | null, view: View) => Row
  /** Start of a message about a wrong argument, such as `record() got`. */
  readonly got: string
  /** Consequence of a private cache in each process, for a warning. */
  readonly withPrivateCache: string
}

/**
 * Records page views: each becomes a row, without identity, of the engine of its measure. The
 * engine of the measure that the figures are of also finds the measures that other processes have
 * begun.
 */
export abstract class ViewRecorder<
  View extends { readonly measure: Measure },
  Row,
> extends EngineRecorder<Row> {
  protected readonly engine: Engine<Row>
  protected readonly logger: BurstLogger
  protected readonly views: IncomingViews<View>

  constructor(rows: ViewRows<View, Row>, environment: Environment) {
    const { what, name, gridName, count, engineOf, rowOf } = rows
    const logger = new BurstLogger(rows.logger, () => environment.clock.elapsed())
    const own = engineOf(count, logger)
    const engine: Engine<Row> = new Engine(
      new Connections<CloseReport>(what, name, environment),
      {
        ...own,
        async afterRun(database, now) {
          await own.afterRun?.(database, now)
          await engines.discover()
        },
      },
      environment,
    )
    const others = MEASURES.filter((measure) => measure !== count)
    const engines = new Engines(
      engine,
      others.map((measure) => engineOf(measure, logger)),
    )
    const { cache, clock, database, writer } = engine
    const views = new IncomingViews<View>({
      ...rows,
      cache,
      clock,
      logger,
      name: gridName,
      secret: () => secretOf(database),
      forward(time, visitor, view, recordedAt) {
        const { measure } = view
        const target =
          measure === count ? writer : engines.of(measureName(gridName, measure))?.writer
        target?.append(rowOf(time, visitor, view), recordedAt)
      },
    })
    super(engines, views)
    this.engine = engine
    this.logger = logger
    this.views = views
  }
}

/** Collects one measure, for processes that count nothing. */
export class MeasureCollector<Row> extends EngineRecorder<Row> {
  constructor(
    { what, name, logger, engineOf }: Omit<ViewRows<never, Row>, 'count'>,
    measure: Measure,
    environment: Environment = systemEnvironment,
  ) {
    const connections = new Connections<CloseReport>(what, name, environment)
    const burst = new BurstLogger(logger, () => environment.clock.elapsed())
    super(new Engines(new Engine(connections, engineOf(measure, burst), environment)))
  }
}
