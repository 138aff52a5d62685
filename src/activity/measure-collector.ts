import { Connections } from '../connections/connections.js'
import type { Measure } from '../page-views/measures.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { Engine } from '../wide-cache/engine.js'
import { EngineRecorder } from '../wide-cache/engine-recorder.js'
import type { CloseReport } from '../wide-cache/writer/closing.js'
import { engineSettings } from './engine-settings.js'
import type { ActivitySettings } from './options.js'
import type { Visit } from './visit.js'

/** Collects one measure of an activity, for processes that count nothing. */
export class MeasureCollector extends EngineRecorder<Visit> {
  constructor(
    settings: ActivitySettings,
    measure: Measure,
    environment: Environment = systemEnvironment,
  ) {
    const logger = new BurstLogger(settings.logger, () => environment.clock.elapsed())
    const connections = new Connections<CloseReport>('Activity', settings.name, environment)
    const own = engineSettings(settings, measure, environment, logger)
    super(new Engine(connections, own, environment))
  }
}
