/**
 * Runs seeds of a simulation until one breaks a promise. The arguments: `protocol` or `sequence`,
 * the first seed, how many.
 */
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))
/** Worlds take turns at the event loop, whose own turns cost as much as an event. */
const LANES = 4
const [of, from, count] = process.argv.slice(2)

let next = Number(from)
const end = next + Number(count)
const simulate = of === 'protocol' ? await protocol() : await sequence()
await Promise.all(
  Array.from({ length: LANES }, async () => {
    while (next < end) {
      const seed = next++
      try {
        await simulate(seed)
      } catch (error) {
        console.log(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`)
        process.exit(1)
      }
    }
  }),
)

async function protocol(): Promise<(seed: number) => Promise<unknown>> {
  const [{ loadProtocol }, { simulate }] = await Promise.all([
    import('../simulation/protocol.js'),
    import('../simulation/simulate.js'),
  ])
  const loaded = await loadProtocol(SOURCE)
  return (seed) => simulate(loaded, seed)
}

async function sequence(): Promise<(seed: number) => Promise<unknown>> {
  const { load, simulate } = await import('../sequence/simulate.js')
  const loaded = await load(SOURCE)
  return (seed) => simulate(loaded, seed)
}
