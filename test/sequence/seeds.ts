/**
 * Runs seeds of the simulation: `npm run simulate:sequence -- [from] [count]`; a single
 * one is printed as it happens.
 */
import { fileURLToPath } from 'node:url'
import { load, simulate } from './simulate.js'

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))
const [from = 0, count = 100] = process.argv.slice(2).map(Number)
const loaded = await load(SOURCE)
let broken = 0
for (let seed = from; seed < from + count; seed++) {
  await simulate(loaded, seed, count === 1).catch((error: unknown) => {
    broken++
    console.log(`seed ${seed}: ${String(error)}`)
  })
}
console.log(`${count} seeds, ${broken} broken`)
