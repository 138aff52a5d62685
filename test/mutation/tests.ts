/** Runs test files in this one process: `node --import tsx test/mutation/tests.ts file …`. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href)
