/**
 * Each part of the benchmark runs, and what it has counted is right: quick runs, whose figures show
 * nothing. Run by `npm run test:all`, and by name. Needs `npm run build` before.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { TYPESCRIPT } from '../scripts/typescript/exec-argv.js'
import { removeFolder, temporaryFolder } from '../test/servers/process.js'
import { PARTS } from './harness/parts.js'

const run = promisify(execFile)
const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

for (const part of PARTS) {
  test(`${part} runs`, async (t) => {
    const folder = temporaryFolder('bench')
    t.after(() => removeFolder(folder))
    const options = ['--expose-gc', MAIN, part, '--quick', '--results', folder]
    // What it aims at, a busy machine does not show. One that fails leaves no result.
    const { stdout, stderr } = await run(process.execPath, [...TYPESCRIPT, ...options]).catch(
      (error: { stdout: string; stderr: string }) => error,
    )
    const file = join(folder, `${part}.json`)
    assert(existsSync(file), stdout + stderr)
    const { measures } = JSON.parse(readFileSync(file, 'utf8')) as { measures: unknown[] }
    assert(measures.length > 0)
  })
}
