/** Runs seeds on one source, for tests: called in a plain process. */
import { PLANTED_BUGS } from './planted-bugs.js'
import { load, type Outcome, simulate } from './simulate.js'

export interface Found {
  readonly outcomes: readonly Outcome[]
  readonly broken?: string
}

/**
 * Runs seeds in `lanes` worlds that take turns, until one breaks a promise. `bug`: the name of the
 * one that is to be found. `source` has it already if it is in the text.
 */
export async function run(
  source: string,
  seeds: readonly number[],
  lanes: number,
  bug?: string,
): Promise<Found> {
  const loaded = await load(source)
  const planted = PLANTED_BUGS.find(({ name }) => name === bug)
  if (planted && 'plant' in planted) planted.plant(loaded)
  const outcomes: Outcome[] = []
  let broken: string | undefined
  let next = 0
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (next < seeds.length && broken === undefined) {
        const index = next++
        const seed = seeds[index]!
        try {
          outcomes[index] = await simulate(loaded, seed)
        } catch (error) {
          broken ??=
            `seed ${seed}: ${String(error)}; again: ` + `npm run simulate:sequence -- ${seed} 1`
        }
      }
    }),
  )
  return broken === undefined ? { outcomes } : { outcomes, broken }
}
