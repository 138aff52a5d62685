import type { QueryResult, Transaction } from '../../src/database/database.js'
import type { SettledRange } from '../../src/wide-cache/ledger/writer-entry.js'
import { anyOf, type PlantedBug, within } from './planted-bug.js'
import type { Protocol } from './protocol.js'

type Work<T> = (tx: Transaction) => Promise<T>
type WriterEntry = InstanceType<Protocol['WriterEntry']>

/** Returns a function that tells of which ranges SQL has those of a writer: by their first. */
function rangesStored(prototype: WriterEntry): (entry: WriterEntry) => number[] {
  const { load } = prototype
  const stored = new WeakMap<WriterEntry, number[]>()
  prototype.load = function (range) {
    stored.set(this, [...(stored.get(this) ?? []), range.first])
    load.call(this, range)
  }
  return (entry) => stored.get(entry) ?? []
}

/** What tells that rows count as lost while they may still come. */
const LOST_TOO_SOON = anyOf(
  /is not settled|let go as confirmed|have not come to SQL/,
  /more is lost|more is missing/,
)

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
    message: /committed twice|ranges are above/,
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
    message: /committed twice|ranges are above/,
    seed: 0,
  },
  {
    name: 'which frames are new is read before the writers are locked',
    file: 'ledger/writer-entries.ts',
    find: `  await FIGURES.upsert(tx, rows)
  return readEntries(tx, name, writers)`,
    replace: `  const early = await readEntries(tx, name, writers)
  await FIGURES.upsert(tx, rows)
  return new Map([...await readEntries(tx, name, writers), ...early])`,
    message: /UNIQUE|committed twice|settled before|ranges are above|the ledger (has|keeps)/,
    seed: 2,
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
    message: /let go as confirmed|has lost|though frame .* is not settled/,
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
    message: /raises the watermark over .* though frame/,
    seed: 10,
  },
  {
    name: 'what is missing below a floor is lost at once',
    plant({ WriterEntry: { prototype } }) {
      const { compact } = prototype
      prototype.compact = function () {
        return compact.call(this, -1)
      }
    },
    message: anyOf(
      /though frame .* is not settled|let go as confirmed/,
      /more is lost than missing/,
    ),
    seed: 20,
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
    message: /does not add up|more is lost than missing|has lost/,
    seed: 21,
  },
  {
    name: 'a frame in quarantine is counted as committed',
    file: 'ledger/writer-entries.ts',
    find:
      "entry.prefix, outcome === 'committed' ? entry.taken : 0, " +
      "outcome === 'quarantined' ? entry.taken : 0,",
    replace: 'entry.prefix, entry.taken, 0,',
    message: /the ledger has \d+ rows committed/,
    seed: 6,
  },
  {
    name: 'a frame in quarantine is not entered in the ledger',
    plant({ Ledger, WriterEntry: { prototype } }) {
      const { compact } = prototype
      const isQuarantining = within(Ledger.prototype, 'quarantine')
      prototype.compact = function (...times) {
        if (!isQuarantining()) return compact.apply(this, times)
        this.taken = 0
        return { removed: [], changed: [] }
      }
    },
    message: /the ledger has \d+ rows committed/,
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
    message: /nothing is wrong with its rows/,
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
    message: /nothing is wrong with its rows/,
    seed: 5,
  },
  {
    name: 'compaction deletes ranges that it still needs',
    plant({ WriterEntry: { prototype } }) {
      const storedIn = rangesStored(prototype)
      const { compact } = prototype
      prototype.compact = function (...times) {
        return { ...compact.apply(this, times), removed: storedIn(this) }
      }
    },
    message: /committed twice|ranges of|settled before/,
    seed: 0,
  },
  {
    name: 'ranges that have grown are not written',
    plant({ WriterEntry: { prototype } }) {
      const storedIn = rangesStored(prototype)
      const { compact } = prototype
      prototype.compact = function (...times) {
        const { removed, changed } = compact.apply(this, times)
        const stored = storedIn(this)
        return { removed, changed: changed.filter(({ first }) => !stored.includes(first)) }
      }
    },
    message: /committed twice|ranges of|settled before/,
    seed: 0,
  },
  {
    name: 'all measures of a grid are committed as the first',
    plant({ Ledger: { prototype } }) {
      prototype.nameOf = function () {
        return this.name
      }
    },
    message: /is committed as one of/,
    seed: 1,
  },
  {
    name: 'a watermark rises with the frames of the first measure only',
    file: 'ledger/ledger.ts',
    find: '        for (const [measure, own] of byMeasure(frames)) {',
    replace: '        for (const [measure, own] of byMeasure(frames).slice(0, raise ? 1 : 9)) {',
    message: /have come again|is not settled/,
    seed: 11,
  },
  {
    name: 'a collector confirms one frame too many',
    plant({ Ledger: { prototype } }) {
      const { prefixOf } = prototype
      prototype.prefixOf = async function (name, writer) {
        return (await prefixOf.call(this, name, writer)) + 1
      }
    },
    message: /let go as confirmed/,
  },
  {
    name: 'what committed by itself is tried again',
    plant({ CountingDatabase: { prototype }, DatabaseError }) {
      const { transaction } = prototype
      prototype.transaction = async function <T>(work: Work<T>) {
        try {
          return (await transaction.call(this, work)) as T
        } catch (error) {
          throw error instanceof DatabaseError && error.code === 'DATABASE_TRANSACTION_LOST'
            ? new DatabaseError('CONNECTION_LOST', 'unreachable', error.message)
            : error
        }
      }
    },
    message: /goes on committing/,
    seed: 140,
  },
  {
    name: 'statements are not cut to what the database takes',
    plant({ CountingDatabase: { prototype } }) {
      const { transaction } = prototype
      prototype.transaction = function <T>(work: Work<T>) {
        const unbounded: Work<T> = (tx) => work({ ...tx, maxStatementBytes: Infinity })
        return transaction.call(this, unbounded) as Promise<T>
      }
    },
    message: /have not come to SQL|though all is well|layers behind|is not settled|does not end/,
    seed: 36,
  },
  {
    name: 'a floor ages by what the safe clock gains for the time before it was seen',
    file: 'ledger/safe-clock.ts',
    find: 'settings.cellTtlSeconds * 1000 + longestMs(settings)',
    replace: 'settings.cellTtlSeconds * 1000',
    message: LOST_TOO_SOON,
    seed: 328,
  },
  {
    name: 'rows count as lost by a clock that is ahead',
    file: 'ledger/writer-entries.ts',
    find: 'entry.compact(agedMs)',
    replace: 'Object.assign(entry, { safeAt: now }).compact(agedMs)',
    message: LOST_TOO_SOON,
    seed: 369,
  },
  {
    name: 'young frames count as duplicates when their cells are drained',
    plant({ SettledHere: { prototype } }) {
      Object.defineProperty(prototype, 'keys', { get: () => new Set() })
    },
    message: /duplicate rows, and/,
    seed: 2,
  },
  {
    name: 'forgotten writers are not added up',
    plant({ Chores, CountingDatabase: { prototype } }) {
      const { transaction } = prototype
      const isChore = within(Chores.prototype, 'run')
      const added: QueryResult = { rows: [], affectedRows: 1 }
      prototype.transaction = function <T>(work: Work<T>) {
        const withoutSums: Work<T> = (tx) =>
          work({
            ...tx,
            query: async (sql, values) =>
              isChore() && sql.startsWith('INSERT') ? added : tx.query(sql, values),
          })
        return transaction.call(this, withoutSums) as Promise<T>
      }
    },
    message: /totals become|falls from|the ledger has/,
    seed: 14,
  },
  {
    name: 'any error of a part of a refused batch sends it to quarantine',
    plant({ Ledger: { prototype }, isAboutRows }) {
      const { commit } = prototype
      const refused = new WeakSet<object>()
      prototype.commit = async function (frames, options) {
        try {
          return await commit.call(this, frames, options)
        } catch (error) {
          if (isAboutRows(error)) for (const frame of frames) refused.add(frame)
          else if (frames.length > 0 && frames.every((frame) => refused.has(frame))) {
            return this.quarantine(frames, 'any', options)
          }
          throw error
        }
      }
    },
    message: /nothing is wrong with its rows/,
    seed: 32,
  },
  {
    name: 'each frame above a gap has a range of its own',
    plant({ WriterEntry: { prototype } }) {
      const { take, compact } = prototype
      const taken = new WeakMap<WriterEntry, SettledRange[]>()
      prototype.take = function (frame) {
        const isNew = take.call(this, frame)
        const { sequence, issued, rowCount } = frame
        const own = { first: sequence, last: sequence, issued, rows: rowCount }
        if (isNew) taken.set(this, [...(taken.get(this) ?? []), own])
        return isNew
      }
      prototype.compact = function (...times) {
        const { removed } = compact.apply(this, times)
        const isPassed = (first: number): boolean => first <= this.prefix
        const changed = (taken.get(this) ?? []).filter(({ first }) => !isPassed(first))
        return { removed: removed.filter(isPassed), changed }
      }
    },
    message: /ranges of/,
    seed: 0,
  },
  {
    name: 'figures go past a frame that is missing',
    file: 'complete.ts',
    find: 'missingSince === undefined ? now : Math.max(missingSince, direct)',
    replace: 'now',
    message: /is told that all is in SQL|comes to SQL though figures were complete/,
    seed: 6,
  },
  {
    name: 'a frame tells of its own first row, not of the oldest one held',
    file: 'writer/outbox.ts',
    find: 'floorAt: Math.min(oldest?.openedAt ?? openedAt, openedAt)',
    replace: 'floorAt: openedAt',
    message: /is told that all is in SQL/,
    seed: 2,
  },
  {
    name: 'a frame that is committed directly tells of no older one that is held',
    file: 'writer/direct-commit.ts',
    find: '...this.#outbox.floorFor(frame)',
    replace: 'floor: frame.sequence, floorIssued: frame.issued, floorAt: frame.openedAt',
    message: /is told that all is in SQL|let go as confirmed|committed twice/,
    seed: 2,
  },
  {
    name: 'a missing frame is told of only where it is the next one',
    file: 'used-grids.ts',
    find: 'r.first_sequence > w.floor',
    replace: 'r.first_sequence > w.floor + 1',
    message: /is told that all is in SQL/,
    seed: 2,
  },
  {
    name: 'figures go on though SQL takes no writes',
    file: 'complete.ts',
    find: 'const direct = upTo(directTo)',
    replace: 'const direct = now - directMs',
    message: /though figures were complete|told that all is in SQL/,
    seed: 99,
  },
]
