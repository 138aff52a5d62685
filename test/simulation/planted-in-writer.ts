import { anyOf, callsOf, type PlantedBug, within } from './planted-bug.js'

/** Bugs of writers: what they hold, let go of, place, bring to SQL themselves, and report. */
export const IN_WRITER: readonly PlantedBug[] = [
  {
    name: 'a writer takes frames for confirmed from the prefix on',
    plant({ Outbox: { prototype } }) {
      prototype.confirm = function (writer, prefix) {
        for (const frame of this.frames()) {
          if (frame.writer === writer && frame.sequence >= prefix) this.remove(frame)
        }
      }
    },
    message: /let go as confirmed/,
  },
  {
    name: 'a writer takes one frame more for confirmed',
    plant({ Outbox: { prototype } }) {
      const { confirm } = prototype
      prototype.confirm = function (writer, prefix) {
        confirm.call(this, writer, prefix + 1)
      }
    },
    message: /let go as confirmed/,
  },
  {
    name: 'the floor is above what the writer holds',
    plant({ Numbering: { prototype } }) {
      const { next } = prototype
      prototype.next = function (rowCount, openedAt, oldest) {
        const header = next.call(this, rowCount, openedAt, oldest)
        return { ...header, floor: header.sequence, floorIssued: header.issued }
      }
    },
    message: /let go as confirmed|committed twice|beyond frame .* which is missing/,
    seed: 2,
  },
  {
    name: 'what is committed directly stays in the outbox',
    plant({ DirectCommit, Outbox: { prototype } }) {
      const { remove } = prototype
      const isDirect = within(DirectCommit.prototype, 'commit')
      prototype.remove = function (frame) {
        if (!isDirect()) remove.call(this, frame)
      }
    },
    message:
      /closes with .* (?:though all|where)|has not all that was dropped|has lost .* long ago/,
    seed: 0,
  },
  {
    name: 'unplaced frames are not committed directly',
    plant({ DirectCommit: { prototype } }) {
      const { attempt } = prototype
      prototype.attempt = function (frames, afterwards) {
        const placed = frames.filter((frame) => frame.layer !== undefined)
        return attempt.call(this, placed, afterwards)
      }
    },
    message: /have not come to SQL|rows long ago/,
    seed: 2,
  },
  {
    name: 'unconfirmed frames are not committed directly',
    plant({ DirectCommit: { prototype } }) {
      const { attempt } = prototype
      prototype.attempt = function (frames, afterwards) {
        const unplaced = frames.filter((frame) => frame.layer === undefined)
        return attempt.call(this, unplaced, afterwards)
      }
    },
    message: /have not come to SQL|rows long ago|the run does not end/,
    seed: 3,
  },
  {
    name: 'a failed direct commit is taken for a good one',
    plant({ Ledger: { prototype } }) {
      const { commit } = prototype
      prototype.commit = async function (frames, options) {
        try {
          return await commit.call(this, frames, options)
        } catch (error) {
          if (options?.settledHere) throw error
          return { committed: 0, duplicate: 0, quarantined: 0, prefixes: new Map() }
        }
      }
    },
    message: /let go as confirmed/,
  },
  {
    name: 'the outbox lets go of unplaced frames at its bound',
    plant({ Outbox: { prototype } }) {
      const { makeRoom } = prototype
      prototype.makeRoom = function (bytes) {
        while (!makeRoom.call(this, bytes)) this.remove(this.oldest!)
        return true
      }
    },
    message: /no cache has acknowledged/,
  },
  {
    name: 'the outbox has no bound',
    plant({ Outbox: { prototype } }) {
      prototype.makeRoom = () => true
    },
    message: /an outbox holds/,
  },
  {
    name: 'cells are overwritten instead of appended to',
    plant({ CountingCache: { prototype } }) {
      prototype.append = function (key, value) {
        return this.set(key, value, 3600)
      }
    },
    message: /overwrites/,
  },
  {
    name: 'close() does not commit what is held',
    plant({ Closing, DirectCommit: { prototype } }) {
      const { commit } = prototype
      const isClosing = within(Closing.prototype, 'run')
      prototype.commit = async function (frames) {
        if (!isClosing()) await commit.call(this, frames)
      }
    },
    message: /closes with .* though all is well/,
  },
  {
    name: 'two frames get one number',
    plant({ Numbering: { prototype } }) {
      const { next } = prototype
      prototype.next = function (rowCount, openedAt, oldest) {
        const header = next.call(this, rowCount, openedAt, oldest)
        if (header.sequence % 7 !== 4) return header
        const sequence = header.sequence - 1
        return { ...header, sequence, floor: Math.min(header.floor, sequence) }
      }
    },
    message: /two frames are numbered/,
  },
  {
    name: 'dropped rows are not counted',
    plant({ Numbering: { prototype } }) {
      prototype.drop = () => undefined
    },
    message: /dropped/,
    seed: 0,
  },
  {
    name: 'append() throws when a row cannot be encoded',
    plant({ BurstLogger: { prototype } }) {
      const { warn } = prototype
      prototype.warn = function (trouble, message) {
        if (trouble === 'encode') throw new TypeError(message)
        warn.call(this, trouble, message)
      }
    },
    message: /append\(\) throws/,
    seed: 6,
  },
  {
    name: 'one server that is down counts as the whole cache',
    plant({ Placer, CountingCache: { prototype } }) {
      const { append } = prototype
      const placing = callsOf(Placer.prototype, 'place', () => ({ failure: undefined as unknown }))
      prototype.append = async function (key, value) {
        const placed = placing()
        if (placed?.failure) throw placed.failure
        try {
          return await append.call(this, key, value)
        } catch (error) {
          if (placed) placed.failure = error
          throw error
        }
      }
    },
    message: /though a cache server would have taken them/,
    seed: 201,
  },
  {
    name: 'a writer that holds frames takes a new id',
    plant({ Numbering: { prototype } }) {
      const { next } = prototype
      prototype.next = function (rowCount, openedAt, oldest) {
        this.drop(0, false)
        return next.call(this, rowCount, openedAt, oldest)
      }
    },
    message: anyOf(
      /Assertion|two frames|has let go|let go as confirmed|have not come to SQL/,
      /closes with|not all that was|close\(\) has said|floor/,
    ),
    seed: 15,
  },
  {
    name: 'close() without SQL trusts a cell that the cache may have lost',
    plant({ Closing, Placer: { prototype } }) {
      const { place } = prototype
      const isClosing = within(Closing.prototype, 'run')
      prototype.place = async function (frame, ...others) {
        return isClosing() && frame.layer !== undefined
          ? undefined
          : place.call(this, frame, ...others)
      }
    },
    message: /though the cache is well/,
    seed: 3,
  },
  {
    name: 'close() reports as in the cache what the cache had taken before',
    plant({ Closing, Placer: { prototype } }) {
      const { place } = prototype
      const isClosing = within(Closing.prototype, 'run')
      prototype.place = async function (frame, ...others) {
        return isClosing() && frame.layer !== undefined
          ? frame.layer
          : place.call(this, frame, ...others)
      }
    },
    message: /closes with .* (where|though)/,
    seed: 3,
  },
  {
    name: 'what no cell has taken waits for SQL',
    plant({ Closing, Placer: { prototype } }) {
      const { place } = prototype
      const isClosing = within(Closing.prototype, 'run')
      const tried = new WeakSet<object>()
      prototype.place = async function (frame, ...others) {
        if (tried.has(frame) && !isClosing()) return undefined
        tried.add(frame)
        return place.call(this, frame, ...others)
      }
    },
    message: /waits in its process, though the cache would have taken it/,
    seed: 22,
  },
  {
    name: 'close() counts rows in quarantine as committed',
    plant({ Ledger: { prototype } }) {
      prototype.quarantinedOf = async () => new Set()
    },
    message: /closes with .* where/,
    seed: 167,
  },
  {
    name: 'rows appended while all is being closed are not reported',
    plant({ Writer: { prototype } }) {
      prototype.end = async () => undefined
    },
    message: /not all that was dropped/,
    seed: 364,
  },
  {
    name: 'a process that ends waits for SQL before a frame is placed',
    plant({ Placer: { prototype } }) {
      prototype.stopAsking = () => undefined
    },
    with: {
      file: 'writer/placer.ts',
      find: 'const ASK_MS = 500',
      replace: 'const ASK_MS = 3_000',
    },
    message: /though the cache is well/,
    seed: 3,
  },
  {
    name: 'a writer that heard a hint of a clock ahead hears no other before its time',
    file: 'writer/upkeep.ts',
    find: 'if (this.#hintedTo > newest) this.#hintedTo = -1',
    replace: '',
    message: /which the cache has lost, waits for long/,
    seed: 6007,
  },
  {
    name: 'a write to another table proves that SQL takes rows',
    file: 'ledger/ledger.ts',
    find: `  async prefixOf(name: string, writer: string): Promise<number> {
`,
    replace: `  async prefixOf(name: string, writer: string): Promise<number> {
    await proveWritable(this.#database, this.name, await this.#watch.recent(this.#database))
`,
    message: /which the cache has lost|though figures were complete/,
    seed: 99,
  },
  {
    name: 'figures do not wait for a process that SQL answers slowly',
    file: 'used-grids.ts',
    find: "earliest(rows[0]?.['missing_since'], rows[0]?.['joining_since'])",
    replace: "earliest(rows[0]?.['missing_since'])",
    message: /though figures were complete/,
    seed: 54,
  },
  {
    name: 'a process withdraws its entry before collectors are known to bring its rows',
    file: 'joining.ts',
    find: 'if (isBrought() ||',
    replace: 'if (isBrought !== undefined ||',
    message: /though figures were complete/,
    seed: 54,
  },
  {
    name: 'figures go past what a server has lost with its memory',
    file: 'collector/grid-drain.ts',
    find: 'raised < this.#memory.lostTo ? 0 :',
    replace: '',
    message: /which the cache has lost|though figures were complete/,
    seed: 121,
  },
  {
    name: 'the watermark has risen when the memory of the cache is looked at',
    file: 'collector/grid-drain.ts',
    find: 'await this.#memory.look(read, Math.floor(watch.estimate ?? now), isNew)',
    replace: '',
    with: {
      file: 'collector/grid-drain.ts',
      find: 'await this.#commit.settle(read, report, raise)',
      replace: `await this.#commit.settle(read, report, raise)
      await this.#memory.look(read, Math.floor(watch.estimate ?? now), isNew)`,
    },
    message: /which the cache has lost|though figures were complete/,
    seed: 266,
  },
  {
    name: 'close() gives up while its first transaction is under way',
    file: 'writer/closing.ts',
    find: 'if (this.#isAnswered && this.#report().lost > 0)',
    replace: 'if (this.#parts.direct.commits < 0)',
    message: /though all is well/,
    seed: 178,
  },
]
