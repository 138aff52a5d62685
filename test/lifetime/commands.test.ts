/** Each command, in a process of its own: when it has ended, it has closed all it has opened. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'
import { FLAGS } from '../../src/cli/arguments.js'
import { createActivity } from '../../src/index.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import type { Left } from './command-process.js'

const PROGRAM = fileURLToPath(new URL('command-process.ts', import.meta.url))
/** Decides only how late a command that does not end fails its test. */
const TIMEOUT_MS = 120_000

const NAME = 'left'
const DAY = '2026-05-17'
const NOON = Date.parse(`${DAY}T12:00:00Z`)
const RANGE = ['--from', DAY, '--to', '2026-05-18', '--name', NAME]

const folder = temporaryFolder('lifetime-commands')
after(() => removeFolder(folder))
const file = (name: string): string => join(folder, name)

const COMMANDS: readonly (readonly string[])[] = [
  ['migrate'],
  ['status'],
  ['doctor'],
  ['quarantine', 'list'],
  ['parked', 'list'],
  ['certificate', DAY, '--name', NAME],
  ['export', ...RANGE],
  ['import', file('hits.csv'), '--name', 'threads', '--id', 'once'],
  ['note', DAY, 'released 2.0', '--name', NAME],
  ['reconcile', file('access.log'), '--csv', ...RANGE],
  ['remove-value', '--dimension', 'page', '--value', '/none', '--name', NAME],
  ['collect'],
]

let env: Readonly<Record<string, string>> = {}
before(async () => {
  const [database, cache] = await Promise.all([sharedMysqlUrl(), sharedMemcached()])
  env = { DATABASE_URL: database, MEMCACHE_SERVERS: cache }
  const site = createActivity({ name: NAME, database, cache, collect: false })
  site.record({ page: '/a', visitor: 'anna', at: NOON })
  await site.flush()
  await site.drain({ all: true })
  await site.close()
  const line = { time: `${NOON / 1000}.000`, uri: '/a', method: 'GET', status: '200' }
  const page = { type: 'text/html', accept: 'text/html', 'user-agent': 'Mozilla/5.0 Firefox/140.0' }
  writeFileSync(file('access.log'), JSON.stringify({ ...line, ...page }))
  writeFileSync(file('hits.csv'), 'item,hits\na,1\n')
})

describe('nothing that it has opened is open after', { concurrency: 3 }, () => {
  for (const [command = '', ...args] of COMMANDS) {
    test(command, async () => {
      const argv = [...TYPESCRIPT, PROGRAM, command, ...args]
      const options = { timeout: TIMEOUT_MS, env: { ...process.env, ...env } }
      const { stdout, stderr } = await promisify(execFile)(process.execPath, argv, options)
      const { signals, ...left } = JSON.parse(stdout.slice(stdout.lastIndexOf('\n'))) as Left
      // A second signal ends a process that was told to stop and does not.
      if (command === 'collect') assert.equal(signals, 0)
      // A memcached that others fill is something to look at.
      const status = command === 'doctor' ? left.status : 0
      assert.deepEqual(left, { status, open: [], resources: [] }, stderr)
      assert(Number(status) < 2, stderr)
    })
  }

  test('every command', () => {
    assert.deepEqual(COMMANDS.map(([command]) => command).sort(), Object.keys(FLAGS).sort())
  })
})
