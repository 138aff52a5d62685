import type { PlantedBug } from '../simulation/planted-bug.js'
import type { Loaded } from './simulate.js'

const TWICE = /handed out twice|used though it may go back/
const SMALLER = /who called after/

type Generation = Awaited<ReturnType<Loaded['GenerationRecord']['prototype']['read']>>

/** Has all processes learn of a generation what `change` makes of it. */
function changeGenerations(
  { GenerationRecord: { prototype } }: Loaded,
  change: (generation: Generation) => Generation,
): void {
  const { read, open } = prototype
  prototype.read = async function () {
    return change(await read.call(this))
  }
  prototype.open = async function (old, token) {
    return change(await open.call(this, old, token))
  }
}

/** Bugs of the sort that a change could bring, and what the simulation says when it finds them. */
export const PLANTED_BUGS: readonly PlantedBug<Loaded>[] = [
  {
    name: 'a generation is acted on for ever',
    plant({ CurrentGeneration: { prototype } }) {
      const { renew } = prototype
      prototype.renew = function (_, reserved) {
        renew.call(this, Infinity, reserved)
      }
    },
    message: SMALLER,
  },
  {
    // In the text: only the method itself knows the clock.
    name: 'knowledge begins with the answer, not with the question',
    file: '../sequence/newest-generation.ts',
    find:
      '    const askedAt = this.#clock.elapsed()\n' +
      '    return this.#learn(await this.#record.read(), askedAt)',
    replace:
      '    const newest = await this.#record.read()\n' +
      '    return this.#learn(newest, this.#clock.elapsed())',
    message: SMALLER,
  },
  {
    name: 'a new generation is used at once',
    plant({ NewestGeneration: { prototype } }) {
      const { open } = prototype
      prototype.open = async function (old, token) {
        await open.call(this, old, token)
        await this.establish(this.current!)
      }
    },
    message: SMALLER,
  },
  {
    name: 'a new generation is established too early',
    plant({ CurrentGeneration: { prototype } }) {
      const { renew } = prototype
      prototype.renew = function (...said) {
        const isNew = this.until === -Infinity
        if (isNew) Object.assign(this, { since: this.since - 600 })
        renew.apply(this, said)
      }
    },
    message: SMALLER,
  },
  {
    name: 'a new generation begins where the old one began',
    plant: (loaded) => changeGenerations(loaded, (generation) => ({ ...generation, base: 0 })),
    message: TWICE,
  },
  {
    name: 'a new generation begins one number below the reserve',
    plant(loaded) {
      changeGenerations(loaded, (generation) => ({
        ...generation,
        base: Math.max(0, generation.base - 1),
      }))
    },
    message: TWICE,
  },
  {
    name: 'an old generation may still raise its reserve',
    plant({ GenerationRecord: { prototype } }) {
      const { raise } = prototype
      prototype.raise = async function (generation, to) {
        if (await raise.call(this, generation, to)) return true
        return raise.call(this, (await this.read()).generation, to)
      }
    },
    message: /handed out/,
  },
  {
    name: 'what lies above the reserve is handed out all the same',
    plant({ NewestGeneration: { prototype } }) {
      const { reserve } = prototype
      prototype.reserve = async function (current, to) {
        await reserve.call(this, current, to)
        return true
      }
    },
    message: TWICE,
  },
  {
    name: 'two processes that miss the counter count with one each',
    plant({ GenerationRecord: { prototype } }) {
      const { open } = prototype
      prototype.open = async function (old, token) {
        return { ...(await open.call(this, old, token)), token }
      }
    },
    message: /handed out/,
  },
  {
    name: 'silence opens a generation',
    plant({ CacheCounters: { prototype } }) {
      const { raise } = prototype
      prototype.raise = function (token, count) {
        return raise.call(this, token, count).catch(() => undefined)
      }
    },
    message: /time-outs have opened generation/,
  },
  {
    name: 'twice as much is reserved ahead',
    plant({ NewestGeneration: { prototype } }) {
      const { reserve } = prototype
      prototype.reserve = function (current, to) {
        return reserve.call(this, current, to + (to - current.reserved))
      }
    },
    message: /are skipped by/,
  },
  {
    name: 'a take from the row does not ask for its generation',
    plant({ GenerationRecord: { prototype } }) {
      const { take } = prototype
      prototype.take = async function (generation, count) {
        const taken = await take.call(this, generation, count)
        return taken ?? take.call(this, (await this.read()).generation, count)
      }
    },
    message: /handed out/,
  },
  {
    name: 'SQL alone serves for ever',
    plant({ CacheReturn: { prototype } }) {
      prototype.isDue = ({ generation }) => generation === 0
    },
    message: /the cache is not used again/,
  },
  {
    name: 'a cache counts that may go back',
    file: '../sequence/sequence.ts',
    find: "cache.scope === 'shared' && cache.neverGoesBack ?",
    replace: "cache.scope === 'shared' ?",
    message: TWICE,
  },
]
