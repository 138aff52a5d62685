/**
 * Runs test files in this one process. The arguments: how many tests at once, since some mostly
 * wait, and the paths of the files.
 */
import { resolve } from 'node:path'
import { describe } from 'node:test'
import { pathToFileURL } from 'node:url'
import { COVERAGE_VARIABLE, recordCoverage } from './coverage.js'

const [atOnce, ...files] = process.argv.slice(2)
const coverage = process.env[COVERAGE_VARIABLE]

describe('a run of files on', { concurrency: coverage ? 1 : Number(atOnce) }, async () => {
  if (coverage) recordCoverage(coverage)
  for (const file of files) await import(pathToFileURL(resolve(file)).href)
})
