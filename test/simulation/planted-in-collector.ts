import { readCell } from '../../src/wide-cache/frame.js'
import {
  anyOf,
  callsOf,
  type PlantedBug,
  type Replacement,
  SMALL_BATCHES,
  within,
} from './planted-bug.js'
import { STAMP } from './schema.js'

/** No bug: as few restarts as a simulated drain has steps. */
const FEW_RESTARTS: Replacement = {
  file: 'collector/name-drain.ts',
  find: 'const MAX_RESTARTS = 5',
  replace: 'const MAX_RESTARTS = 1',
}

/** Cuts a cell behind the first of its pieces that are no frames. */
function upToUnreadable(cell: Buffer): Buffer {
  const [piece] = readCell(cell, STAMP).unreadable
  return piece ? cell.subarray(0, piece.byteOffset + piece.length - cell.byteOffset) : cell
}

/** No layer of a scenario is longer. */
const LONGEST_LAYER_MS = 20_000

/** Bugs of collectors: which cells they read, delete and pass, and whose they are. */
export const IN_COLLECTOR: readonly PlantedBug[] = [
  {
    name: 'cells are deleted before their frames are committed',
    plant({ CountingCache: { prototype } }) {
      const { getMany } = prototype
      prototype.getMany = async function (keys, onUnanswered) {
        const cells = await getMany.call(this, keys, onUnanswered)
        await Promise.allSettled([...cells.keys()].map((key) => this.delete(key)))
        return cells
      }
    },
    message: /deletes .* though frame/,
  },
  {
    name: 'the watermark is set without comparing it',
    plant({ GridRecord: { prototype } }) {
      const { raise } = prototype
      prototype.raise = async function (tx, raised, now) {
        const states = await this.states(tx)
        const from = states.find(({ grid }) => grid.id.equals(raised.grid.id))!.watermark
        await raise.call(this, tx, { ...raised, from }, now)
      }
    },
    message: /watermark falls/,
    seed: 1,
  },
  {
    name: 'the watermark rises with the first of several batches',
    plant({ SettledHere: { prototype } }) {
      const { commit } = prototype
      prototype.commit = async function (frames, options) {
        if (!options?.raise || frames.length < 2) return commit.call(this, frames, options)
        const first = await commit.call(this, frames.slice(0, 1), options)
        const others = await commit.call(this, frames.slice(1), { ...options, raise: undefined })
        return {
          committed: first.committed + others.committed,
          duplicate: first.duplicate + others.duplicate,
          quarantined: 0,
          prefixes: new Map([...first.prefixes, ...others.prefixes]),
        }
      }
    },
    message: /raises the watermark over .* though frame/,
  },
  {
    name: 'layers are drained that are not old enough',
    plant({ GridDrain: { prototype } }) {
      const { drain } = prototype
      prototype.drain = function (now, ...others) {
        return drain.call(this, now + LONGEST_LAYER_MS, ...others)
      }
    },
    message: /not old enough|has not read|whose server has been silent/,
  },
  {
    name: 'the oldest layer that a drain is to read is left out',
    plant({ CellReader: { prototype } }) {
      const { read } = prototype
      prototype.read = function (from, to, silent) {
        return read.call(this, from + 1, to, silent)
      }
    },
    message: /which it has not read|whose server has been silent/,
  },
  {
    name: 'a silent server is passed at once',
    plant({ CellReader: { prototype } }) {
      const { read } = prototype
      prototype.read = async function (...layers) {
        return { ...(await read.apply(this, layers)), unanswered: 0, firstUnanswered: Infinity }
      }
    },
    message: /whose server has been silent/,
  },
  {
    name: 'young layers are deleted by drain({ all: true })',
    plant({ YoungLayers, CountingCache: { prototype } }) {
      const { getMany } = prototype
      const isOfYoung = within(YoungLayers.prototype, 'commitAll')
      prototype.getMany = async function (keys, onUnanswered) {
        const cells = await getMany.call(this, keys, onUnanswered)
        if (isOfYoung()) await Promise.allSettled([...cells.keys()].map((key) => this.delete(key)))
        return cells
      }
    },
    message: /deletes .* though frame|duplicate rows, and/,
    seed: 0,
  },
  {
    name: 'an unreadable piece swallows what stands behind it',
    plant({ CountingCache: { prototype } }) {
      const { getMany } = prototype
      prototype.getMany = async function (keys, onUnanswered) {
        const cells = await getMany.call(this, keys, onUnanswered)
        return new Map([...cells].map(([key, cell]) => [key, upToUnreadable(cell)]))
      }
    },
    message: /though frame .* is not settled|stops at a lock before frame/,
    seed: 86,
  },
  {
    name: "a clone's marks are not looked at",
    file: '../connections/namespace.ts',
    find: "if (tries === LOOK_UP_TRIES) return 'other'",
    replace: "if (tries === LOOK_UP_TRIES) return 'own'",
    message: /has come to database|use one namespace|closes with|the ledger answers/,
    seed: 30,
  },
  {
    name: 'a process uses the cache before it looks at the marks',
    file: '../connections/namespace.ts',
    find: `await this.#compareAtEntry(database, id)`,
    replace: `('own' as string)`,
    message: /has come to database|gives its keys up/,
    seed: 249,
  },
  {
    name: 'a lock stops the batches behind the one that it concerns',
    plant({ GridDrain, SettledHere: { prototype }, DatabaseError }) {
      const { commit } = prototype
      const draining = callsOf(GridDrain.prototype, 'drain', () => ({ lock: undefined as unknown }))
      prototype.commit = async function (frames, options) {
        const drain = draining()
        if (drain?.lock) throw drain.lock
        try {
          return await commit.call(this, frames, options)
        } catch (error) {
          if (drain && error instanceof DatabaseError && error.category === 'lock') {
            drain.lock = error
          }
          throw error
        }
      }
    },
    with: SMALL_BATCHES,
    message: /stops at a lock before/,
    seed: 17,
  },
  {
    name: 'layers below the watermark are not read again',
    plant({ GridDrain, CellReader: { prototype } }) {
      const { read } = prototype
      const watermark = callsOf(GridDrain.prototype, 'drain', (_, { watermark }) => watermark)
      prototype.read = function (from, to, silent) {
        return read.call(this, Math.max(from, (watermark() ?? -Infinity) + 1), to, silent)
      }
    },
    message: /has not read|has been forgotten|waits in its process/,
    seed: 16,
  },
  {
    name: "what is old is removed by the database's clock",
    plant({ SafeClock: { prototype } }) {
      const { follow } = prototype
      prototype.follow = async function (database, now) {
        await follow.call(this, database, now)
        return now
      }
    },
    message: /is removed by a clock|though no collector has run/,
    seed: 14,
  },
  {
    name: 'writers are forgotten by a clock that is ahead',
    file: 'collector/chores.ts',
    find: 'await removeOldEntries(database, name, now)',
    replace: 'await removeOldEntries(database, name, await watch.now(database))',
    message: anyOf(
      /committed twice|takes another for a clone|not what the tables say/,
      /instead of|falls from|of \d+ missing rows|the ledger has|the ledger keeps/,
      /though no collector has run/,
    ),
    seed: 14,
  },
  {
    name: 'a watermark that a wrong clock has raised is left where it is',
    file: 'collector/grid-drain.ts',
    find: '(isAhead && passable === newest)',
    replace: 'false',
    message: /is ahead of the clock/,
    seed: 20,
  },
  {
    name: 'a watermark falls only in a process that has seen the clock go back',
    file: 'collector/grid-drain.ts',
    find: 'const isAhead = isFarAhead(watermark, this.#grid.layers, now)',
    replace:
      'const isAhead =\n' +
      '  this.#wentBackAt > -Infinity && isFarAhead(watermark, this.#grid.layers, now)',
    message: /is ahead of the clock/,
    seed: 257,
  },
  {
    name: 'a watermark falls to layers of which only the newest have been read',
    file: 'collector/grid-drain.ts',
    find: 'let from = this.#oldestToDrain(watermark, newest)',
    replace: 'let from = watermark > newest ? newest : this.#oldestToDrain(watermark, newest)',
    message: /which it has not read/,
    seed: 1643,
  },
  {
    name: 'a restart that has got on counts as one that has not',
    file: 'collector/name-drain.ts',
    find: 'restarts = state.watermark > watermark ? 0 : restarts + 1',
    replace: 'restarts += watermark > -Infinity ? 1 : 0',
    with: FEW_RESTARTS,
    message: /WatermarkMoved/,
    seed: 2,
  },
  {
    name: 'a halved batch is forgotten when a half of it fails',
    plant({ SettledHere: { prototype } }) {
      const { quarantine } = prototype
      prototype.quarantine = async function (frames, ...others) {
        const settled = await quarantine.call(this, frames, ...others)
        this.forget(frames)
        return settled
      }
    },
    message: /duplicate rows, and/,
    seed: 23,
  },
  {
    name: 'a process whose cache no collector reads goes on using it',
    plant({ SameCache: { prototype } }) {
      Object.defineProperty(prototype, 'differs', { get: () => false })
    },
    message: /in a cache that no collector reads/,
    seed: 41,
  },
  {
    name: 'figures say that they are complete up to layers that no collector has drained',
    file: 'complete.ts',
    find: 'const end = layers.endOf(watermark)',
    replace: 'const end = now',
    message: /though figures were complete/,
    seed: 4,
  },
  {
    name: 'figures say that they are complete up to long layers that nobody has read',
    plant({ YoungLayers: { prototype } }) {
      prototype.commitEarly = async () => true
    },
    message: /though figures were complete/,
    seed: 458,
  },
  {
    name: 'a grid is complete though only some of its long layers have been read',
    plant({ YoungLayers: { prototype } }) {
      const { commitEarly } = prototype
      prototype.commitEarly = function (newest, now, report) {
        return commitEarly.call(this, newest, now - 3 * LONGEST_LAYER_MS, report)
      }
    },
    message: /though figures were complete/,
    seed: 458,
  },
  {
    name: 'long layers that nobody uses make all figures old',
    plant({ YoungLayers: { prototype } }) {
      prototype.commitEarly = async () => false
    },
    message: /is complete only up to/,
    seed: 77,
  },
  {
    // The seed finds it where the cache goes back: then a cell that was deleted is there again.
    name: 'a process remembers what it has settled though it has deleted the cell',
    plant({ SettledHere: { prototype } }) {
      prototype.forget = () => undefined
    },
    message: /duplicate rows, and \d+ have come again/,
    seed: 63,
  },
  {
    name: 'collectors do not tell writers what they have found',
    file: 'collector/grid-drain.ts',
    find: 'if (raised !== watermark) await publishHint(',
    replace: 'if (raised < watermark) await publishHint(',
    message: /which the cache has lost/,
    seed: 9,
  },
  {
    name: 'a hint takes what is missing for settled',
    file: 'collector/drained-writers.ts',
    find: 'this.#known.set(writer, { prefix, to })',
    replace: 'this.#known.set(writer, { prefix: 10_000, to })',
    message: /which the cache has lost, waits for long/,
    seed: 266,
  },
  {
    name: 'collectors drain grids of their own geometry only',
    plant({ GridRecord: { prototype } }) {
      const { states } = prototype
      prototype.states = async function (database) {
        const all = await states.call(this, database)
        return all.filter(({ grid }) => grid === this.grid)
      }
    },
    message: /layers behind|has been forgotten|is complete only up to|has lost, waits for long/,
    seed: 2,
  },
]
