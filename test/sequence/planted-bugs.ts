import type { Replacement } from '../simulation/planted-bugs.js'

/** A bug of the kind that a change could bring, and what the simulation says when it finds it. */
export interface SequenceBug extends Replacement {
  readonly name: string
  readonly told: RegExp
}

const TWICE = /handed out twice/
const SMALLER = /who called after/

export const PLANTED_BUGS: readonly SequenceBug[] = [
  {
    name: 'a generation is believed in for ever',
    file: '../sequence/belief.ts',
    find: 'askedAt + BELIEF_MS',
    replace: 'Infinity',
    told: SMALLER,
  },
  {
    name: 'a belief begins with the answer, not with the question',
    file: '../sequence/newest-generation.ts',
    find:
      '    const askedAt = this.#clock.elapsed()\n' +
      '    return this.#learn(await this.#record.read(), askedAt)',
    replace:
      '    const newest = await this.#record.read()\n' +
      '    return this.#learn(newest, this.#clock.elapsed())',
    told: SMALLER,
  },
  {
    name: 'a new generation is used at once',
    file: '../sequence/generation-record.ts',
    find: 'established: row.token === null && row.established',
    replace: 'established: true',
    told: SMALLER,
  },
  {
    name: 'a new generation is established too early',
    file: '../sequence/belief.ts',
    find: 'ESTABLISH_MS = 700',
    replace: 'ESTABLISH_MS = 100',
    told: SMALLER,
  },
  {
    name: 'a new generation begins where the old one began',
    file: '../sequence/generation-record.ts',
    find: 'base: row.reserved,',
    replace: 'base: row.base,',
    told: TWICE,
  },
  {
    name: 'a new generation begins one number below the reserve',
    file: '../sequence/generation-record.ts',
    find: 'base: row.reserved,',
    replace: 'base: Math.max(0, row.reserved - 1),',
    told: TWICE,
  },
  {
    name: 'an old generation may still raise its reserve',
    file: '../sequence/generation-record.ts',
    find: 'WHERE name = ? AND generation = ?',
    replace: 'WHERE name = ? AND generation >= ?',
    told: /handed out/,
  },
  {
    name: 'what lies above the reserve is handed out all the same',
    file: '../sequence/newest-generation.ts',
    find: 'else belief.end()\n    return raised',
    replace: 'else belief.end()\n    return true',
    told: TWICE,
  },
  {
    name: 'two processes that miss the counter open a generation each',
    file: '../sequence/generation-record.ts',
    find: 'if (row.generation !== old) return row',
    replace: 'if (row.generation < old) return row',
    told: /handed out/,
  },
  {
    name: 'silence opens a generation',
    file: '../sequence/numbers.ts',
    find: 'SILENCE_MS = 5_000',
    replace: 'SILENCE_MS = 0',
    told: /time-outs have opened generation/,
  },
  {
    name: 'twice the block is reserved ahead',
    file: '../sequence/numbers.ts',
    find: 'last + this.#parts.block',
    replace: 'last + 2 * this.#parts.block',
    told: /are skipped by/,
  },
  {
    name: 'a take from the row does not ask for its generation',
    file: '../sequence/generation-record.ts',
    find: 'if (row?.generation !== generation) return undefined',
    replace: 'if (!row) return undefined',
    told: /handed out/,
  },
  {
    name: 'SQL alone serves for ever',
    file: '../sequence/way-back.ts',
    find: 'RETURN_MS = 10_000',
    replace: 'RETURN_MS = 1e9',
    told: /the cache is not used again/,
  },
]
