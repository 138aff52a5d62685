/**
 * `npm run simulate -- --seeds 1000000 --from 0`: runs seeds in as many processes as there are
 * cores, and prints at once how to run again one that breaks a promise. `--seed N` runs one and
 * prints all that happens.
 */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { loadProtocol } from './protocol.js'
import { firstSeeds, runSeeds } from './seeds.js'
import { simulate } from './simulate.js'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string' },
    source: { type: 'string' },
  },
})
const source = values.source ?? fileURLToPath(new URL('../../src', import.meta.url))
if (values.seed !== undefined) {
  const outcome = await simulate(await loadProtocol(source), Number(values.seed), { verbose: true })
  console.log(outcome)
} else {
  const began = performance.now()
  const { failures, done, rows } = await runSeeds({
    source,
    seeds: firstSeeds(Number(values.seeds), Number(values.from)),
    processes: availableParallelism(),
    progress: console.log,
  })
  console.log(
    `${done} seeds, ${rows} rows, ${failures.length} failed, ` +
      `${Math.round((performance.now() - began) / 1000)} s`,
  )
  process.exitCode = failures.length > 0 ? 1 : 0
}
