import { anyOf, type PlantedBug } from './planted-bug.js'

/**
 * What could go wrong in writers: what they hold, let go of, place, bring to SQL themselves, and
 * report.
 */
export const IN_WRITER: readonly PlantedBug[] = [
  {
    name: 'a writer takes frames for confirmed from the prefix on',
    file: 'writer/outbox.ts',
    find: 'frame.sequence > prefix) return',
    replace: 'frame.sequence < prefix) return',
    told: /let go as confirmed/,
  },
  {
    name: 'a writer takes one frame more for confirmed',
    file: 'writer/outbox.ts',
    find: 'frame.sequence > prefix) return',
    replace: 'frame.sequence > prefix + 1) return',
    told: /let go as confirmed/,
  },
  {
    name: 'the floor is above what the writer holds',
    file: 'writer/numbering.ts',
    find:
      'floor: oldest?.sequence ?? this.#sequence,\n      floorIssued: oldest?.issued ?? ' +
      'this.#issued,',
    replace: 'floor: this.#sequence,\n      floorIssued: this.#issued,',
    told: /let go as confirmed|committed twice/,
    seed: 30,
  },
  {
    name: 'what is committed directly stays in the outbox',
    file: 'writer/direct-commit.ts',
    find:
      '        this.#outbox.remove(frame)\n        ' +
      'this.#outbox.confirm(frame.writer, prefixes.get(frame.writer) ?? -1)',
    replace: '        void frame',
    told: /closes with .* though all is well|has not all that was dropped|has lost .* long ago/,
  },
  {
    name: 'unplaced frames are not committed directly',
    file: 'writer/upkeep.ts',
    find:
      'return ( apart || age >= confirmSeconds * 1000 || (!frame.placed && (age >= ' +
      'UNPLACED_MS || placer.down)) )',
    replace: 'return frame.placed && age >= confirmSeconds * 1000',
    told: /have not come to SQL|rows long ago/,
  },
  {
    name: 'unconfirmed frames are not committed directly',
    file: 'writer/upkeep.ts',
    find: 'return ( apart || age >= confirmSeconds * 1000 || (',
    replace: 'return ( apart || age < 0 || (',
    told: /have not come to SQL|rows long ago|the run does not end/,
  },
  {
    name: 'a failed direct commit is taken for a good one',
    file: 'writer/direct-commit.ts',
    find: '      const { prefixes } = await settle(',
    replace: `      for (const frame of batch) this.#outbox.remove(frame)
      const { prefixes } = await settle(`,
    told: /let go as confirmed/,
  },
  {
    name: 'the outbox lets go of unplaced frames at its bound',
    file: 'writer/outbox.ts',
    find: 'for (const frame of this.#placed) {',
    replace: 'for (const frame of this.#frames.values()) {',
    told: /no cache has acknowledged/,
  },
  {
    name: 'the outbox has no bound',
    file: 'writer/outbox.ts',
    find: 'if (this.#bytes + bytes <= this.#maxBytes) return true\n    for',
    replace: 'if (bytes > 0) return true\n    for',
    told: /an outbox holds/,
  },
  {
    name: 'cells are overwritten instead of appended to',
    file: 'writer/placer.ts',
    find: '(await this.#parts.cache.append(key, bytes)) || (await this.#parts.cache.add(',
    replace: '(await this.#parts.cache.set(',
    told: /overwrites/,
  },
  {
    name: 'close() does not commit what is held',
    file: 'writer/closing.ts',
    find: 'await direct.commit([...outbox.frames()])',
    replace: '',
    told: /closes with .* though all is well/,
  },
  {
    name: 'two frames get one number',
    file: 'writer/numbering.ts',
    find: '    this.#sequence++\n',
    replace: '    if (this.#sequence % 7 !== 3) this.#sequence++\n',
    told: /two frames are numbered/,
  },
  {
    name: 'dropped rows are not counted',
    file: 'writer/numbering.ts',
    find: 'this.#dropped += rows',
    replace: 'this.#dropped += rows > 1 ? rows : 0',
    told: /dropped/,
  },
  {
    name: 'append() throws when a row cannot be encoded',
    file: 'writer/writer.ts',
    find: `warn('encode', 'wide-cache: a row that its codec cannot write is dropped and counted')`,
    replace: `noSuchMethod('a row that its codec cannot write')`,
    told: /append\(\) throws/,
    seed: 6,
  },
  {
    name: 'a writer whose clock is behind places by it all the same',
    file: 'published-watermark.ts',
    find: 'return isTooFar ? own : Math.max(own, present)',
    replace: 'return isTooFar ? own : own',
    told: /though figures were complete/,
    seed: 99,
  },
  {
    name: 'one server that is down counts as the whole cache',
    file: 'writer/placer.ts',
    find: 'tried < Math.max(grid.width, REFUSALS) && refusals < REFUSALS',
    replace: 'tried < 1',
    told: /though a cache server would have taken them/,
    seed: 201,
  },
  {
    name: 'a writer that holds frames takes a new id',
    file: 'writer/numbering.ts',
    find: 'this.#restedMs > REST_MS && !holdsFrames && ',
    replace: 'this.#restedMs > REST_MS && ',
    told: anyOf(
      /Assertion|two frames|has let go|let go as confirmed|have not come to SQL/,
      /closes with|not all that was|close\(\) has said|floor/,
    ),
    seed: 15,
  },
  {
    name: 'close() without SQL trusts a cell that the cache may have lost',
    file: 'writer/closing.ts',
    find: '(isLate || !frame.placed)',
    replace: '(!isLate && !frame.placed)',
    told: /though the cache is well/,
    seed: 16,
  },
  {
    name: 'what no cell has taken waits for SQL',
    file: 'writer/upkeep.ts',
    find: "this.#begin('cache', () => this.#placeRest())",
    replace: "this.#underWay.delete('cache')",
    told: /waits in its process, though the cache would have taken it/,
    seed: 29,
  },
  {
    name: 'close() counts rows in quarantine as committed',
    file: 'writer/closing.ts',
    find: "this.#quarantined.has(frame.sequence) ? 'quarantined' : 'committed'",
    replace: "this.#quarantined.has(-1) ? 'quarantined' : 'committed'",
    told: /closes with .* where/,
    seed: 136,
  },
  {
    name: 'rows appended while all is being closed are not reported',
    file: 'writer/writer.ts',
    find: 'while (this.#numbering.hasUnreported) await this.#numbering.report()',
    replace: '',
    told: /not all that was dropped/,
    seed: 170,
  },
  {
    name: 'a process that ends waits for SQL before a frame is placed',
    file: 'writer/placer.ts',
    find: '    this.#isHurried = true\n    this.#hurry()',
    replace: '',
    with: {
      file: 'writer/placer.ts',
      find: 'const ASK_MS = 500',
      replace: 'const ASK_MS = 3_000',
    },
    told: /though the cache is well/,
  },
]
