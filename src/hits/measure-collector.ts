import { Connections } from '../connections/connections.js'
import type { Measure } from '../page-views/measures.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { Engine } from '../wide-cache/engine.js'
import { EngineRecorder } from '../wide-cache/engine-recorder.js'
import type { CloseReport } from '../wide-cache/writer/closing.js'
import { CountingMaps } from './counting.js'
import { engineSettings } from './engine-settings.js'
import type { Hit } from './hit.js'
import type { HitsSettings } from './options.js'

/** Collects one measure of hits, for processes that count nothing. */
export class HitsCollector extends EngineRecorder<Hit> {
  constructor(
    settings: HitsSettings,
    measure: Measure,
    environment: Environment = systemEnvironment,
  ) {
    const logger = new BurstLogger(settings.logger, () => environment.clock.elapsed())
    const connections = new Connections<CloseReport>('Hits', settings.name, environment)
    const own = engineSettings(settings, measure, () => maps.of(measure), logger)
    const engine: Engine<Hit> = new Engine(connections, own, environment)
    const maps = new CountingMaps(engine.database.database, settings, measure, environment)
    super(engine, undefined, [maps])
  }
}
