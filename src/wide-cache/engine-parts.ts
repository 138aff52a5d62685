import type { Connections } from '../connections/connections.js'
import { CountingCache, CountingDatabase } from '../connections/counting.js'
import { type Environment } from '../support/environment.js'
import { BurstLogger } from '../support/logger.js'
import { ClockWatch } from './clock-watch.js'
import { NameDrain } from './collector/name-drain.js'
import { Marks } from './collector/marks.js'
import type { EngineSettings } from './engine-settings.js'
import { entering } from './entering.js'
import { stampOf } from './frame.js'
import { GridRecord } from './ledger/grid-record.js'
import { Ledger } from './ledger/ledger.js'
import { DrainTurns } from './collector/drain-turns.js'
import { PublishedWatermark } from './published-watermark.js'
import type { CloseReport } from './writer/closing.js'

/** Makes the parts of an engine that others of its parts use. */
export function engineParts<Row>(
  connections: Connections<CloseReport>,
  settings: EngineSettings<Row>,
  environment: Environment,
) {
  const { name, layerSeconds } = settings
  const { clock, newId } = environment
  const cache = new CountingCache(connections.openCache(settings.cache), clock)
  const { scope } = cache
  const logger = new BurstLogger(settings.logger, () => clock.elapsed())
  const watch = new ClockWatch(clock, logger)
  const owner = newId()
  const record = new GridRecord({ name, geometry: settings, owner, scope, newId })
  const enter = entering({ own: settings, layerSeconds, scope, clock, watch, record })
  const tables = ['wide-cache', ...settings.tables]
  const database = connections.openDatabase(settings.database, tables, {
    logger: settings.logger,
    through: (opened) => CountingDatabase.of(opened, clock),
    enter,
  })
  const ports = { ...settings, environment, clock, newId, owner, logger, cache, database }
  const parts = {
    ...ports,
    watch,
    record,
    stamp: stampOf(settings.kind),
    turns: new DrainTurns(environment),
  }
  const marks = new Marks(parts)
  const published = new PublishedWatermark(parts)
  const ledger = new Ledger<Row>(parts)
  const compare = async (): Promise<void> => {
    await marks.compare()
    // Unused for so long that it was forgotten.
    if (!record.grid) await enter(database)
  }
  const nameDrain = new NameDrain({ ...parts, ledger, marks, published })
  return { ...parts, marks, published, ledger, compare, nameDrain }
}
