/**
 * Runs test files in this one process, four tests at a time, since much of their time is waiting:
 * the arguments are their paths.
 */
import { resolve } from 'node:path'
import { describe } from 'node:test'
import { pathToFileURL } from 'node:url'

describe('a run of files on', { concurrency: 4 }, async () => {
  for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href)
})
