/** Runs seeds on one source, for tests: called in a plain process. */
import { PLANTED_BUGS } from './planted-bugs.js'
import { loadProtocol } from './protocol.js'
import { type Outcome, simulate } from './simulate.js'

/** The first seed that breaks a promise, and what the world says of it. */
export interface Broken {
  readonly seed: number
  readonly told: string
}

/** `bug`: the name of the one that is to be found. `source` has it already if it is in the text. */
export async function firstBroken(
  source: string,
  seeds: readonly number[],
  bug: string,
): Promise<Broken | undefined> {
  const protocol = await loadProtocol(source)
  const planted = PLANTED_BUGS.find(({ name }) => name === bug)!
  if ('plant' in planted) planted.plant(protocol)
  for (const seed of seeds) {
    try {
      await simulate(protocol, seed)
    } catch (error) {
      return { seed, told: String(error) }
    }
  }
  return undefined
}

/** The outcomes of seeds, one after the other or in worlds that take turns. */
export async function outcomesOf(
  source: string,
  seeds: readonly number[],
  way: 'alone' | 'at once',
): Promise<Outcome[]> {
  const protocol = await loadProtocol(source)
  if (way === 'at once') return Promise.all(seeds.map((seed) => simulate(protocol, seed)))
  const outcomes = []
  for (const seed of seeds) outcomes.push(await simulate(protocol, seed))
  return outcomes
}
