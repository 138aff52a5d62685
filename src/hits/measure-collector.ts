import { Connections } from '../connections/connections.js'
import type { Measure } from '../page-views/measures.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { Engine } from '../wide-cache/engine.js'
import { EngineRecorder } from '../wide-cache/engine-recorder.js'
import type { CloseReport } from '../wide-cache/writer/closing.js'
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
    const connections = new Connections<CloseReport>('Hits', settings.name, environment)
    super(new Engine(connections, engineSettings(settings, measure), environment))
  }
}
