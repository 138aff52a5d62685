/** The examples run as their first lines say, with no service, and end by themselves. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { withoutSlowness } from '../slow-machine.js'

const run = promisify(execFile)
const FOLDER = new URL('../../examples/classes/', import.meta.url)
const LIMIT_MS = 300_000

const examples = readdirSync(FOLDER).filter((file) => file.endsWith('.js'))

test('there are examples', () => {
  assert(examples.length >= 4, examples.join(' '))
})

for (const example of examples) {
  test(`${example} says what happens, and ends`, async () => {
    const file = fileURLToPath(new URL(example, FOLDER))
    assert.match(
      readFileSync(file, 'utf8'),
      new RegExp(`node examples/classes/${example.replace('.', '\\.')}`),
      'its first lines say how it is run',
    )
    const { stdout, stderr } = await run(process.execPath, [file], {
      env: withoutOurs(),
      timeout: LIMIT_MS,
    })
    assert(stdout.split('\n').length > 3, stdout)
    assert.equal(withoutSlowness(stderr), '')
  })
}

for (const example of ['sequence.js', 'hits.js']) {
  test(`${example} goes by the variables that the package reads, in its order`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'wide-cache-examples-'))
    try {
      const file = (name: string) => join(folder, name)
      const env = { ...withoutOurs(), DATABASE_URL: `sqlite:${file('shared.db')}` }
      const at = fileURLToPath(new URL(example, FOLDER))
      await run(process.execPath, [at], {
        env: { ...env, WIDE_CACHE_DATABASE_URL: `sqlite:${file('own.db')}` },
        timeout: LIMIT_MS,
      })
      assert.deepEqual([existsSync(file('own.db')), existsSync(file('shared.db'))], [true, false])
      await run(process.execPath, [at], { env, timeout: LIMIT_MS })
      assert(existsSync(file('shared.db')))
    } finally {
      await rm(folder, { recursive: true })
    }
  })
}

/** This process's environment without what the package reads. */
function withoutOurs(): NodeJS.ProcessEnv {
  const {
    MEMCACHE_SERVERS: _,
    DATABASE_URL: __,
    WIDE_CACHE_SERVERS: ___,
    WIDE_CACHE_DATABASE_URL: ____,
    REDIS_URL: _____,
    ...env
  } = process.env
  return env
}
