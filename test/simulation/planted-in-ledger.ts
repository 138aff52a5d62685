import { anyOf, type PlantedBug } from './planted-bug.js'

/** Bugs of the ledger: which frames it takes, what it counts, and what it keeps. */
export const IN_LEDGER: readonly PlantedBug[] = [
  {
    name: 'the ledger does not look whether a frame is there already',
    plant({ WriterEntry: { prototype } }) {
      const { take } = prototype
      prototype.take = function (frame) {
        if (!take.call(this, frame)) this.taken += frame.rowCount
        return true
      }
    },
    told: /committed twice|ranges are above/,
  },
  {
    name: 'the ledger looks above the prefix only',
    plant({ WriterEntry: { prototype } }) {
      const { take } = prototype
      prototype.take = function (frame) {
        if (frame.sequence > this.prefix) return take.call(this, frame)
        this.taken += frame.rowCount
        return true
      }
    },
    told: /committed twice|ranges are above/,
    seed: 2,
  },
  {
    name: 'which frames are new is read before the writers are locked',
    file: 'ledger/writer-entries.ts',
    find: `  await FIGURES.upsert(tx, rows)
  const entries = await readEntries(tx, name, writers)`,
    replace: `  const early = await readEntries(tx, name, writers)
  await FIGURES.upsert(tx, rows)
  const entries = new Map([...await readEntries(tx, name, writers), ...early])`,
    told: /UNIQUE|committed twice|settled before|ranges are above|the ledger has/,
    seed: 9,
  },
  {
    name: 'the prefix counts a gap as settled',
    plant({ WriterEntry: { prototype } }) {
      const { compact } = prototype
      prototype.compact = function (...times) {
        const { removed, changed } = compact.apply(this, times)
        for (const { last } of changed) this.prefix = last
        return { removed, changed: [] }
      }
    },
    told: /let go as confirmed/,
  },
  {
    name: 'the watermark rises though nothing has been committed, when rows are refused',
    plant({ SettledHere: { prototype }, isAboutRows }) {
      const { commit } = prototype
      prototype.commit = async function (frames, options) {
        try {
          return await commit.call(this, frames, options)
        } catch (error) {
          if (options?.raise && isAboutRows(error)) await commit.call(this, [], options)
          throw error
        }
      }
    },
    told: /raises the watermark over .* though frame/,
    seed: 6,
  },
  {
    name: 'what is missing below a floor is lost at once',
    plant({ WriterEntry: { prototype } }) {
      const { compact } = prototype
      prototype.compact = function (now, _ttl, maySettle) {
        return compact.call(this, now, -1, maySettle)
      }
    },
    told: anyOf(/though frame .* is not settled|let go as confirmed/, /more is lost than missing/),
    seed: 122,
  },
  {
    name: 'lost rows are miscounted',
    plant({ WriterEntry: { prototype } }) {
      const { compact } = prototype
      prototype.compact = function (...times) {
        const { lost } = this
        const ranges = compact.apply(this, times)
        if (this.lost > lost) this.lost += lost
        return ranges
      }
    },
    told: /does not add up|more is lost than missing|has lost/,
    seed: 1,
  },
  {
    name: 'a frame in quarantine is counted as committed',
    file: 'ledger/writer-entries.ts',
    find:
      "entry.prefix, outcome === 'committed' ? entry.taken : 0, " +
      "outcome === 'quarantined' ? entry.taken : 0,",
    replace: 'entry.prefix, entry.taken, 0,',
    told: /the ledger has \d+ rows committed/,
    seed: 6,
  },
  {
    name: 'a frame in quarantine is not entered in the ledger',
    file: 'ledger/ledger.ts',
    find: 'await writeEntries(tx,',
    replace: "if (outcome === 'committed') await writeEntries(tx,",
    told: /the ledger has \d+ rows committed/,
    seed: 6,
  },
  {
    name: 'a frame goes to quarantine because of its neighbours',
    plant({ Ledger: { prototype }, isAboutRows }) {
      const { commit } = prototype
      prototype.commit = async function (frames, options) {
        try {
          return await commit.call(this, frames, options)
        } catch (error) {
          if (frames.length === 1 || !isAboutRows(error)) throw error
          return this.quarantine(frames, 'all', options)
        }
      }
    },
    told: /nothing is wrong with its rows/,
    seed: 6,
  },
  {
    name: 'any error sends a frame to quarantine',
    plant({ Ledger: { prototype }, DatabaseError }) {
      const { commit } = prototype
      prototype.commit = async function (frames, options) {
        try {
          return await commit.call(this, frames, options)
        } catch (error) {
          throw error instanceof DatabaseError ? new DatabaseError(error.code, 'data', '') : error
        }
      }
    },
    told: /nothing is wrong with its rows/,
    seed: 36,
  },
  {
    name: 'compaction deletes ranges that it still needs',
    file: 'ledger/writer-entry.ts',
    find: 'filter((first) => !kept.has(first))',
    replace: 'filter(() => true)',
    told: /committed twice|ranges of/,
  },
  {
    name: 'ranges that have grown are not written',
    file: 'ledger/writer-entry.ts',
    find: 'this.#stored.get(first) !== last',
    replace: 'this.#stored.get(first) === undefined',
    told: /committed twice|ranges of/,
  },
  {
    name: 'a collector confirms one frame too many',
    plant({ Ledger: { prototype } }) {
      const { prefixOf } = prototype
      prototype.prefixOf = async function (writer) {
        return (await prefixOf.call(this, writer)) + 1
      }
    },
    told: /let go as confirmed/,
  },
  {
    name: 'what committed by itself is tried again',
    file: 'ledger/ledger.ts',
    find: 'this.#stopped = error',
    replace: 'void error',
    told: /goes on committing/,
    seed: 109,
  },
  {
    name: 'a frame in quarantine is not cut to what the database takes',
    file: 'ledger/quarantine.ts',
    find: 'Math.max(LEAST_PIECE_BYTES, Math.min(MAX_PIECE_BYTES, room))',
    replace: 'Math.max(LEAST_PIECE_BYTES, MAX_PIECE_BYTES)',
    told: /have not come to SQL|though all is well|layers behind|is not settled/,
    seed: 9,
  },
  {
    name: 'rows count as lost by a clock that is ahead',
    plant({ ClockWatch: { prototype } }) {
      Object.defineProperty(prototype, 'steadyMs', { get: () => Infinity })
    },
    told: anyOf(
      /is not settled|let go as confirmed|have not come to SQL/,
      /more is lost|more is missing/,
    ),
    seed: 391,
  },
  {
    name: 'young frames count as duplicates when their cells are drained',
    plant({ SettledHere: { prototype } }) {
      Object.defineProperty(prototype, 'keys', { get: () => new Set() })
    },
    told: /duplicate rows, and/,
    seed: 6,
  },
  {
    name: 'forgotten writers are not added up',
    file: 'ledger/retention.ts',
    find: '[name, FORGOTTEN, issued, committed, duplicate, quarantined, dropped, lost]',
    replace: '[name, FORGOTTEN, 0, 0, 0, 0, 0, 0]',
    told: /totals become|falls from|the ledger has/,
    seed: 14,
  },
  {
    name: 'any error of a half of a refused batch sends it to quarantine',
    file: 'ledger/settle.ts',
    find: 'const first = await settle(ledger, frames.slice(0, middle), logger, options)',
    replace:
      'const first = await settle(ledger, frames.slice(0, middle), logger, options).catch(() ' +
      "=> ledger.quarantine(frames.slice(0, middle), 'any', options))",
    told: /nothing is wrong with its rows/,
    seed: 32,
  },
  {
    name: 'each frame above a gap has a range of its own',
    file: 'ledger/writer-entry.ts',
    find: 'const joins = before?.last === sequence - 1',
    replace: 'const joins = before?.last === -5',
    told: /ranges of/,
  },
]
