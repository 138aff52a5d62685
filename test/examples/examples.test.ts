/** The examples run as their first lines say, with no service, and end by themselves. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const FOLDER = new URL('../../examples/relatives/', import.meta.url)
const LIMIT_MS = 60_000

const examples = readdirSync(FOLDER).filter((file) => file.endsWith('.js'))

test('there are examples', () => {
  assert(examples.length >= 4, examples.join(' '))
})

for (const example of examples) {
  test(`${example} says what happens, and ends`, async () => {
    const file = fileURLToPath(new URL(example, FOLDER))
    assert.match(readFileSync(file, 'utf8'), new RegExp(`node examples/relatives/${example.replace('.', '\\.')}`), 'its first lines say how it is run')
    const { MEMCACHE_SERVERS: _, DATABASE_URL: __, ...env } = process.env
    const { stdout, stderr } = await run(process.execPath, [file], { env, timeout: LIMIT_MS })
    assert(stdout.split('\n').length > 3, stdout)
    assert.equal(stderr, '')
  })
}
