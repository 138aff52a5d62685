/**
 * Runs test files in this one process. The arguments: how many tests at once, since some mostly
 * wait, and the paths of the files.
 */
import { resolve } from 'node:path'
import { describe } from 'node:test'
import { pathToFileURL } from 'node:url'

const [atOnce, ...files] = process.argv.slice(2)

describe('a run of files on', { concurrency: Number(atOnce) }, async () => {
  for (const file of files) await import(pathToFileURL(resolve(file)).href)
})
