import { anyOf, type PlantedBug } from './planted-bug.js'

/** Bugs of the ledger: which frames it takes, what it counts, and what it keeps. */
export const IN_LEDGER: readonly PlantedBug[] = [
  {
    name: 'the ledger does not look whether a frame is there already',
    file: 'ledger/writer-entry.ts',
    find: 'if (sequence <= this.prefix) return false',
    replace: 'if (sequence < 0) return false',
    told: /committed twice|ranges are above/,
  },
  {
    name: 'the ledger looks above the prefix only',
    file: 'ledger/writer-entry.ts',
    find: 'if (sequence <= this.prefix) return false',
    replace: 'if (this.prefix < -1) return false',
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
    file: 'ledger/writer-entry.ts',
    find:
      'while (this.#ranges[0]?.first === this.prefix + 1) this.prefix = ' +
      'this.#ranges.shift()!.last',
    replace: 'while (this.#ranges[0]) this.prefix = this.#ranges.shift()!.last',
    told: /let go as confirmed/,
  },
  {
    name: 'the watermark rises though nothing has been committed, when rows are refused',
    file: 'ledger/settle.ts',
    find:
      '  const settled = await isolate(ledger, frames, logger, { settledHere })\n  if (raise) ' +
      'await ledger.commit([], { raise })',
    replace:
      '  if (raise) await ledger.commit([], { raise })\n  const settled = await ' +
      'isolate(ledger, frames, logger, { settledHere })',
    told: /raises the watermark over .* though frame/,
    seed: 6,
  },
  {
    name: 'what is missing below a floor is lost at once',
    file: 'ledger/writer-entry.ts',
    find: 'now - this.agingSince > ttl',
    replace: 'now - this.agingSince >= 0',
    told: anyOf(/though frame .* is not settled|let go as confirmed/, /more is lost than missing/),
    seed: 122,
  },
  {
    name: 'lost rows are miscounted',
    file: 'ledger/writer-entry.ts',
    find: 'let issued = this.#settled + this.taken + this.lost',
    replace: 'let issued = this.#settled + this.taken',
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
    file: 'ledger/settle.ts',
    find: 'if (only && frames.length === 1) return',
    replace:
      "if (only && frames.length > 1) return ledger.quarantine(frames, 'all')\n  if (only) return",
    told: /nothing is wrong with its rows/,
    seed: 6,
  },
  {
    name: 'any error sends a frame to quarantine',
    file: 'ledger/settle.ts',
    find: "(error instanceof DatabaseError && error.category === 'data')",
    replace: '(error instanceof DatabaseError)',
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
    file: 'ledger/ledger.ts',
    find: "return Number(row?.['prefix'] ?? -1)",
    replace: "return Number(row?.['prefix'] ?? -1) + 1",
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
    file: 'ledger/ledger.ts',
    find: 'const maySettle = this.#watch.steadyMs >= ttl',
    replace: 'const maySettle = true',
    told: anyOf(
      /is not settled|let go as confirmed|have not come to SQL/,
      /more is lost|more is missing/,
    ),
    seed: 391,
  },
  {
    name: 'young frames count as duplicates when their cells are drained',
    file: 'ledger/ledger.ts',
    find: `if (settledHere.has(key) && !again.has(key)) again.add(key)
      else entry`,
    replace: `if (settledHere.has(key) && again.has(key)) again.add(key)
      else entry`,
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
