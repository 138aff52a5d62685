import { Connections } from '../connections/connections.js'
import { secretOf } from '../database/identity.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { BurstLogger, type Logger } from '../support/logger.js'
import type { TimeZone } from '../support/time-zone.js'
import type { Engine } from '../wide-cache/engine.js'
import { EngineRecorder } from '../wide-cache/engine-recorder.js'
import type { EngineSettings } from '../wide-cache/engine-settings.js'
import { Engines } from '../wide-cache/engines.js'
import type { CloseReport } from '../wide-cache/writer/closing.js'
import type { Measure } from './measures.js'
import { IncomingViews } from './incoming-views.js'
import { OwnCalendar } from './own-calendar.js'

/** The rows that views become, and the object that records them. */
export interface ViewRows<View, Row> {
  /** Class of the object, and the name that it was made with, for errors. */
  readonly what: 'Activity' | 'Hits'
  readonly name: string
  /** Full name of the measure `served`. */
  readonly gridName: string
  /** Measures that rows are of. */
  readonly measures: readonly Measure[]
  /** Measure that the figures are of. */
  readonly count: Measure
  readonly logger: Logger
  /** Zone of hours and days that the process has been given. */
  readonly timeZone: TimeZone | undefined
  /** Returns the settings of the engine of a measure. */
  readonly engineOf: (measure: Measure, logger: BurstLogger) => EngineSettings<Row>
  readonly rowOf: (time: number, visitor: Buffer | null, view: View) => Row
  /** Start of a message about a wrong argument, such as `record() got`. */
  readonly got: string
  /** Consequence of a private cache in each process, for a warning. */
  readonly withPrivateCache: string
}

/** Records page views: each becomes a row, without identity, of the engine of its measure. */
export abstract class ViewRecorder<
  View extends { readonly measure: Measure },
  Row,
> extends EngineRecorder<Row> {
  protected readonly engine: Engine<Row>
  protected readonly logger: BurstLogger
  protected readonly views: IncomingViews<View>
  protected readonly calendar: OwnCalendar

  constructor(rows: ViewRows<View, Row>, environment: Environment) {
    const { gridName, measures, rowOf } = rows
    const logger = new BurstLogger(rows.logger, () => environment.clock.elapsed())
    const engines = enginesOf(rows, logger, environment)
    const engine = engines.main
    const { cache, clock, database } = engine
    const calendar = new OwnCalendar({ ...rows, database, logger })
    const views = new IncomingViews<View>({
      ...rows,
      cache,
      clock,
      logger,
      calendar,
      name: gridName,
      secret: () => secretOf(database),
      forward(time, visitor, view, recordedAt) {
        const own = engines.of(measures.indexOf(view.measure))
        own?.writer.append(rowOf(time, visitor, view), recordedAt)
      },
    })
    super(engines, views)
    this.engine = engine
    this.logger = logger
    this.views = views
    this.calendar = calendar
  }
}

/** Collects views, for processes that count none. */
export class ViewCollector<Row> extends EngineRecorder<Row> {
  constructor(rows: ViewRows<never, Row>, environment: Environment = systemEnvironment) {
    const logger = new BurstLogger(rows.logger, () => environment.clock.elapsed())
    super(enginesOf(rows, logger, environment))
  }
}

/** Makes the engines of the measures of views. */
function enginesOf<Row>(
  { what, name, measures, count, engineOf }: ViewRows<never, Row>,
  logger: BurstLogger,
  environment: Environment,
): Engines<Row> {
  const connections = new Connections<CloseReport>(what, name, environment)
  const settings = measures.map((measure) => engineOf(measure, logger))
  return new Engines(connections, settings, environment, measures.indexOf(count))
}
