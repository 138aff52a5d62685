/** One replacement in the heart's text. */
export interface Replacement {
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
}

/** No bug: batches so small that a simulated layer makes several. */
export const SMALL_BATCHES: Replacement = { file: 'batches.ts', find: 'const BATCH_FRAMES = 2_000', replace: 'const BATCH_FRAMES = 2' }

/** Bugs of the kind that a change could bring, each as one replacement in the heart's text, and what must tell. */
export interface PlantedBug extends Replacement {
  readonly name: string
  /** What else is changed, so that it can show. */
  readonly with?: Replacement
  /** What the simulation says when it finds it. */
  readonly told: RegExp
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'the ledger does not look whether a frame is there already',
    file: 'writer-entry.ts',
    find: 'if (sequence <= this.prefix || this.known.has(sequence)) {',
    replace: 'if (sequence < 0) {',
    told: /committed twice/,
  },
  {
    name: 'the ledger looks above the prefix only',
    file: 'writer-entry.ts',
    find: 'sequence <= this.prefix || this.known.has(sequence)',
    replace: 'this.known.has(sequence)',
    told: /committed twice/,
  },
  {
    name: 'which frames are new is read before the writers are locked',
    file: 'ledger.ts',
    find: `      const entries = await this.#lock(tx, frames, now)
      const fresh = await this.#fresh(tx, frames, entries)`,
    replace: `      const early = new Map([...new Set(frames.map((frame) => frame.writer))].map((writer) => [writer, new WriterEntry(writer, { prefix: -1 })]))
      await this.#fresh(tx, [], early)
      const entries = await this.#lock(tx, frames, now)
      for (const [writer, entry] of early) for (const [sequence, rowCount] of entry.known) entries.get(writer)!.known.set(sequence, rowCount)
      const fresh = frames.filter((frame) => entries.get(frame.writer)!.take(frame))`,
    told: /UNIQUE|committed twice/,
  },
  {
    name: 'cells are deleted before their frames are committed',
    file: 'collector.ts',
    find: 'await this.#commit(fetched.frames, report, raise)',
    replace: 'await this.#delete(fetched.keys)\n      await this.#commit(fetched.frames, report, raise)',
    told: /deletes .* though frame/,
  },
  {
    name: 'the prefix is published with frames that are missing below it',
    file: 'collector.ts',
    find: "this.#cache.set(this.#grid.prefixKey(writer), Buffer.from(String(prefix)), this.#cellTtlSeconds)",
    replace: "this.#cache.set(this.#grid.prefixKey(writer), Buffer.from(String(prefix + 1)), this.#cellTtlSeconds)",
    told: /is published though|let go as confirmed/,
  },
  {
    name: 'the prefix counts a gap as settled',
    file: 'writer-entry.ts',
    find: 'while (this.known.has(this.prefix + 1)) this.prefix++',
    replace: 'for (const sequence of this.known.keys()) this.prefix = Math.max(this.prefix, sequence)',
    told: /is published though|let go as confirmed/,
  },
  {
    name: 'the watermark is set without comparing it',
    file: 'grid-record.ts',
    find: 'WHERE grid = ? AND cache_id = ? AND layer = ?',
    replace: 'WHERE grid = ? AND cache_id = ? AND (layer = ? OR 1)',
    told: /watermark falls/,
  },
  {
    name: 'the watermark rises with the first of several batches',
    file: 'collector.ts',
    find: 'index === batches.length - 1 ? raise : undefined',
    replace: 'index === 0 ? raise : undefined',
    with: SMALL_BATCHES,
    told: /raises the watermark over .* though frame/,
  },
  {
    name: 'the watermark rises though nothing has been committed, when rows are refused',
    file: 'settle.ts',
    find: '  const settled = await isolate(ledger, frames, logger)\n  if (raise) await ledger.commit([], { raise })',
    replace: '  if (raise) await ledger.commit([], { raise })\n  const settled = await isolate(ledger, frames, logger)',
    told: /raises the watermark over .* though frame/,
  },
  {
    name: 'layers are drained that are not old enough',
    file: 'collector.ts',
    find: 'const newest = present - this.#drainAfterLayers',
    replace: 'const newest = present - this.#drainAfterLayers + 1',
    told: /not old enough|has not read/,
  },
  {
    name: 'the oldest layer above the watermark is left out',
    file: 'collector.ts',
    find: 'Math.max(watermark + 1, newest',
    replace: 'Math.max(watermark + 2, newest',
    told: /which it has not read/,
  },
  {
    name: 'a silent server is passed at once',
    file: 'collector.ts',
    find: 'elapsed - since >= SERVER_PATIENCE_MS',
    replace: 'elapsed - since >= 0',
    told: /whose server has been silent/,
  },
  {
    name: 'young layers are deleted by drain({ all: true })',
    file: 'collector.ts',
    find: `const { frames } = await this.#fetch(layer, layer, report, new Set())
      await this.#commit(frames, report, undefined)`,
    replace: `const { frames, keys } = await this.#fetch(layer, layer, report, new Set())
      await this.#delete(keys)
      await this.#commit(frames, report, undefined)`,
    told: /deletes .* though frame/,
  },
  {
    name: 'a writer takes frames for confirmed from the prefix on',
    file: 'outbox.ts',
    find: 'if (frame.sequence > prefix) return',
    replace: 'if (frame.sequence < prefix) return',
    told: /let go as confirmed/,
  },
  {
    name: 'a writer takes one frame more for confirmed',
    file: 'outbox.ts',
    find: 'if (frame.sequence > prefix) return',
    replace: 'if (frame.sequence > prefix + 1) return',
    told: /let go as confirmed/,
  },
  {
    name: 'the floor is above what the writer holds',
    file: 'writer.ts',
    find: 'floor: oldest?.sequence ?? this.#sequence,\n      floorIssued: oldest?.issued ?? this.#issued,',
    replace: 'floor: this.#sequence,\n      floorIssued: this.#issued,',
    told: /is published though|let go as confirmed/,
  },
  {
    name: 'what is committed directly stays in the outbox',
    file: 'direct-commit.ts',
    find: '        this.#outbox.remove(frame)\n        this.#outbox.confirm(prefixes.get(frame.writer) ?? -1)',
    replace: '        void frame',
    told: /closes with .* though all is well|has not all that was dropped/,
  },
  {
    name: 'unplaced frames are not committed directly',
    file: 'writer.ts',
    find: 'return age >= confirmSeconds * 1000 || (!frame.placed && (age >= UNPLACED_MS || this.#placer.down))',
    replace: 'return frame.placed && age >= confirmSeconds * 1000',
    told: /have not come to SQL/,
  },
  {
    name: 'unconfirmed frames are not committed directly',
    file: 'writer.ts',
    find: 'return age >= confirmSeconds * 1000 || (',
    replace: 'return age < 0 || (',
    told: /have not come to SQL/,
  },
  {
    name: 'a failed direct commit is taken for a good one',
    file: 'direct-commit.ts',
    find: '      const { prefixes } = await settle(',
    replace: `      for (const frame of batch) this.#outbox.remove(frame)
      const { prefixes } = await settle(`,
    told: /let go as confirmed/,
  },
  {
    name: 'the outbox lets go of unplaced frames at its bound',
    file: 'outbox.ts',
    find: 'for (const frame of this.#placed) {',
    replace: 'for (const frame of this.#frames.values()) {',
    told: /no cache has acknowledged/,
  },
  {
    name: 'the outbox has no bound',
    file: 'outbox.ts',
    find: 'if (this.#bytes + bytes <= this.#maxBytes) return true\n    for',
    replace: 'if (bytes > 0) return true\n    for',
    told: /an outbox holds/,
  },
  {
    name: 'compaction deletes the entries above the prefix',
    file: 'ledger.ts',
    find: 'AND sequence <= ?\'',
    replace: 'AND sequence >= ?\'',
    told: /committed twice/,
  },
  {
    name: 'new frames above the prefix get no entry',
    file: 'writer-entry.ts',
    find: 'else if (this.#new.has(sequence)) newlyKept',
    replace: 'else if (this.#new.has(sequence - 1)) newlyKept',
    told: /committed twice|have not come to SQL|more rows settled than issued|though all is well/,
  },
  {
    name: 'what is missing below a floor is lost at once',
    file: 'writer-entry.ts',
    find: 'now - this.agingSince > ttl',
    replace: 'now - this.agingSince >= 0',
    told: /though frame .* is not settled/,
  },
  {
    name: 'lost rows are miscounted',
    file: 'writer-entry.ts',
    find: '(this.#settled + this.taken - above)',
    replace: '(this.#settled - above)',
    told: /does not add up|more is lost than missing/,
  },
  {
    name: 'cells are overwritten instead of appended to',
    file: 'placer.ts',
    find: `await this.#cache.append(key, bytes)
      || await this.#cache.add(`,
    replace: `await this.#cache.set(`,
    told: /overwrites/,
  },
  {
    name: 'close() does not commit what is held',
    file: 'writer.ts',
    find: 'await this.#direct.commit([...this.#outbox.frames()])\n      await this.#sayTotals()',
    replace: 'await this.#sayTotals()',
    told: /closes with .* though all is well/,
  },
  {
    name: 'close() does not say its last sums',
    file: 'writer.ts',
    find: 'await this.#direct.commit([...this.#outbox.frames()])\n      await this.#sayTotals()',
    replace: 'await this.#direct.commit([...this.#outbox.frames()])',
    told: /has not all that was dropped/,
  },
  {
    name: 'a frame in quarantine is counted as committed',
    file: 'ledger.ts',
    find: 'entry.prefix, quarantine ? 0 : entry.taken, quarantine ? entry.taken : 0,',
    replace: 'entry.prefix, entry.taken, 0,',
    told: /the ledger has \d+ rows committed/,
  },
  {
    name: 'a frame in quarantine is not entered in the ledger',
    file: 'ledger.ts',
    find: 'await this.#compact(tx, entries, options.quarantine !== undefined, now)',
    replace: 'if (options.quarantine === undefined) await this.#compact(tx, entries, false, now)',
    told: /the ledger has \d+ rows committed/,
  },
  {
    name: 'a frame goes to quarantine because of its neighbours',
    file: 'settle.ts',
    find: 'if (only && frames.length === 1) return',
    replace: "if (only && frames.length > 1) return ledger.commit(frames, { quarantine: 'all' })\n  if (only) return",
    told: /nothing is wrong with its rows/,
  },
  {
    name: 'any error sends a frame to quarantine',
    file: 'settle.ts',
    find: "(error instanceof DatabaseError && error.kind === 'data')",
    replace: '(error instanceof DatabaseError)',
    told: /nothing is wrong with its rows/,
  },
  {
    name: 'two frames get one number',
    file: 'writer.ts',
    find: '    this.#sequence++\n',
    replace: '    if (this.#sequence % 7 !== 3) this.#sequence++\n',
    told: /two frames are numbered/,
  },
  {
    name: 'dropped rows are not counted',
    file: 'writer.ts',
    find: 'this.#dropped += rows',
    replace: 'this.#dropped += rows > 1 ? rows : 0',
    told: /dropped/,
  },
  {
    name: 'a foreign piece swallows what stands behind it',
    file: 'frame.ts',
    find: 'offset = next < 0 ? cell.length : next',
    replace: 'offset = next < 0 ? cell.length : cell.length',
    told: /though frame .* is not settled/,
  },
  {
    name: 'append() throws when a row cannot be encoded',
    file: 'writer.ts',
    find: `warn('encode', 'wide-cache: a row that its codec cannot write is dropped and counted')`,
    replace: `noSuchMethod('a row that its codec cannot write')`,
    told: /append\(\) throws/,
  },
]
