/** Opens what {@link WideCache} is, in an environment and with settings that a test owns. */
import { type Environment, systemEnvironment } from '../support/environment.js'
import type { Engine } from './engine.js'
import type { Engines } from './engines.js'
import type { EngineSettings } from './engine-settings.js'
import { settingsOf, type WideCacheOptions } from './options.js'
import { RowRecorder, rowEngines } from './wide-cache.js'

/** Settings beside the options of a WideCache. */
export type OwnSettings = Partial<
  Pick<
    EngineSettings<never>,
    'kind' | 'nameSettings' | 'tables' | 'afterDrain' | 'afterRun' | 'metrics' | 'collectorRemedy'
  >
>

export function openEngine<Row, Figures = unknown>(
  options: WideCacheOptions<Row, Figures>,
  environment: Environment = systemEnvironment,
  own: OwnSettings = {},
): { wide: RowRecorder<Row, Figures>; engine: Engine<Row>; engines: Engines<Row> } {
  const settings = settingsOf(options)
  const engines = rowEngines({ ...settings, ...own }, environment)
  return { wide: new RowRecorder(engines, settings.read), engine: engines.main, engines }
}

export function openRows<Row, Figures = unknown>(
  ...args: Parameters<typeof openEngine<Row, Figures>>
): RowRecorder<Row, Figures> {
  return openEngine(...args).wide
}
