import { SILENT } from '../../src/support/logger.js'
import type { WideCacheOptions } from '../../src/wide-cache/options.js'
import type { CloseReport } from '../../src/wide-cache/writer/closing.js'
import { added } from '../../src/support/added.js'
import type { LedgerReport } from '../../src/wide-cache/ledger/report.js'
import { checkAging } from './aging.js'
import { WatchedDatabase } from './watched-database.js'
import type { Protocol } from './protocol.js'
import type { WideCacheProcess } from './process.js'
import { MAX_OUTBOX_BYTES, type Records, ROW_ID_BYTES, type RowTruth } from './records.js'
import { flushMsOf, type Scenario } from './scenario.js'
import { WatchedCache } from './watched-cache.js'
import { COMMIT_AND_CHAIN, INSERT_ROWS } from './watched-database-server.js'
import type { World } from '../simulated-world/world.js'

/** A row as the simulated site records it. */
export interface SimulatedRow {
  readonly truth: RowTruth
  readonly size: number
}

type SimulatedWideCache = InstanceType<Protocol['RowRecorder']>

/** The names of the measures, in all processes. */
const NAMES = ['sim', 'sim.other'] as const

export const BIG_ROW_BYTES = 60_000
export const BIG_FRAME_BYTES = 200_000
const SMALL_FRAME_BYTES = 1024

/** A process with its wide cache, and what has become of it. */
export class Actor {
  readonly process: WideCacheProcess
  readonly writes: boolean
  /** It collects by itself, on a schedule of its own. */
  readonly scheduled: boolean
  readonly wideCache: SimulatedWideCache
  readonly #measures: readonly number[]
  readonly #engines: InstanceType<Protocol['Engines']>
  closed: CloseReport | undefined
  /**
   * It closed while SQL may not have answered to the end: how many rows were dropped may not be in
   * SQL.
   */
  closedInTrouble = false
  /** The next commit commits by itself. */
  commitsImplicitly = false

  /** `line`: the cron line by which it collects by itself; `undefined`: that of the default. */
  constructor(
    process: WideCacheProcess,
    writes: boolean,
    line: string | false | undefined,
    parts: { protocol: Protocol; world: World; scenario: Scenario; records: Records },
  ) {
    const { protocol, world, scenario, records } = parts
    this.process = process
    this.writes = writes
    this.scheduled = line !== false
    const say = (text: string) => world.note(`${process.name}: ${text}`)
    const options: WideCacheOptions<unknown> = {
      name: NAMES[0],
      cache: new WatchedCache(process, process.servers, scenario, protocol),
      database: new WatchedDatabase(process, scenario.packetBytes, protocol),
      ...process.geometry,
      drainAfterLayers: scenario.drainAfterLayers,
      cellTtlSeconds: scenario.cellTtlSeconds,
      confirmSeconds: scenario.confirmSeconds,
      flushMs: flushMsOf(scenario, process.geometry),
      closeTimeoutMs: scenario.closeTimeoutMs,
      maxFrameBytes: scenario.bigRows ? BIG_FRAME_BYTES : SMALL_FRAME_BYTES,
      maxOutboxBytes: MAX_OUTBOX_BYTES,
      collect: line,
      readTtlSeconds: 1,
      removeOld: async (_, { now }) => checkAging(world, process.site.database, now),
      read: async (_, { asOf }) => process.site.truth.toldComplete(process, asOf),
      logger: world.verbose ? { info: say, warn: say, error: say } : SILENT,
      codec: {
        encode: (row, target, offset) => {
          const { truth, size } = row as SimulatedRow
          if (truth.ailment === 'not encodable') throw new TypeError('not encodable')
          if (offset + size > target.length) return -1
          target.fill(0, offset, offset + size)
          target.writeUIntBE(truth.id, offset, ROW_ID_BYTES)
          return offset + size
        },
        decode: (bytes) => {
          const row = records.rows[bytes.readUIntBE(0, ROW_ID_BYTES)]!
          if (row.ailment === 'not decodable') throw new RangeError('not decodable')
          return row
        },
      },
      commit: async (rows, tx, { name }) => {
        const truths = rows as RowTruth[]
        for (const row of truths) {
          world.check(
            NAMES[row.process.measure] === name,
            () => `row ${row.id} of ${row.process.name} is committed as one of ${name}`,
          )
        }
        await tx.query(
          INSERT_ROWS,
          truths.map((row) => row.id),
        )
        if (truths.some((row) => row.ailment === 'refused by commit')) {
          throw new RangeError('refused by commit')
        }
        if (!this.commitsImplicitly) return
        this.commitsImplicitly = false
        await tx.query(COMMIT_AND_CHAIN)
      },
    }
    const settings = protocol.settingsOf<unknown, unknown>(options)
    const { environment, measure, zone: timeZone } = process
    this.#engines = new protocol.Engines<unknown>(
      new protocol.Connections('WideCache', NAMES[0], environment),
      NAMES.slice(0, scenario.measures).map((name) => ({ ...settings, name, timeZone })),
      environment,
      measure,
    )
    this.#measures = Array.from({ length: scenario.measures }, (_, at) => at)
    this.wideCache = new protocol.RowRecorder<unknown>(this.#engines, settings.read)
  }

  /** What became of the rows of all measures. */
  async report(): Promise<LedgerReport> {
    const engines = this.#measures.map((measure) => this.#engines.of(measure)!)
    return added(await Promise.all(engines.map((engine) => engine.report())))
  }

  get name(): string {
    return this.process.name
  }

  /** It lives and has not been told to close, nor stopped because its commit commits by itself. */
  get goesOn(): boolean {
    return this.process.alive && !this.process.closing && !this.process.toldLost
  }

  /** All that it had must be in SQL: it lives, or has closed with nothing left. */
  get inOrder(): boolean {
    return (
      this.goesOn ||
      (this.closed !== undefined && this.closed.inCache === 0 && this.closed.lost === 0)
    )
  }
}
