/** Commands that go on while the database is away say so, and when it is back. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createActivity } from '../activity/site-activity.js'
import { memory } from '../cache/memory.js'
import { eventually } from '../support/eventually.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { type FaultyTcp, startFaultyTcp } from '../../test/servers/faulty-tcp.js'
import { sharedMemcached, sharedMysqlUrl } from '../../test/servers/shared.js'
import { commandOf } from './arguments.js'
import { collect } from './collect.js'
import { status } from './status.js'

let proxy: FaultyTcp
let database: string
before(async () => {
  const url = new URL(await sharedMysqlUrl())
  proxy = await startFaultyTcp(url.host)
  url.host = proxy.address
  database = url.href
  const options = { cache: memory(), collect: false } as const
  const activity = createActivity({ ...options, database, logger: keptLog() })
  await activity.migrate()
  await activity.close()
})
beforeEach(() => proxy.refuse())
after(() => proxy.close())

test('collect asks an absent database again, and then waits for the name to be used', async (t) => {
  const [log, stop] = [keptLog(), new AbortController()]
  t.after(() => stop.abort())
  const asked = commandOf(['collect', '--collect', '* * * * * *', '--name', 'unused'])
  assert(asked.command === 'collect')
  const options = { ...asked.options, cache: await sharedMemcached(), database }
  const collecting = collect(options, log, stop.signal)
  await eventually('a line about the database', () => log.lines.length > 0)
  assert.match(
    log.lines[0]!,
    /^wide-cache: reading what to collect from the database failed and will be retried: ./,
  )
  await proxy.listen()
  await eventually('it is back', () => log.lines.length > 2)
  assert.deepEqual(log.lines.slice(1), [
    'wide-cache: no process with a shared cache has used "unused" in this database yet; ' +
      'collecting begins when one does',
    'wide-cache: the database answers again',
  ])
  stop.abort()
  await collecting
})

test('status --watch asks an absent database again', async (t) => {
  const [log, stop] = [keptLog(), new AbortController()]
  t.after(() => stop.abort())
  await proxy.listen()
  let printed = 0
  const watching = status(
    { database, name: undefined, json: false, watch: true, all: false },
    log,
    () => void printed++,
    { stop: stop.signal, clear: '', everyMs: 10 },
  )
  await eventually('a status', () => printed > 0)
  await proxy.refuse()
  await eventually('a line about the database', () => log.lines.length > 0)
  assert.match(log.lines[0]!, /^wide-cache: reading the status failed and will be retried: ./)
  await proxy.listen()
  await eventually('it is back', () => log.lines.length > 1)
  assert.deepEqual(log.lines.slice(1), ['wide-cache: the database answers again'])
  stop.abort()
  await watching
})
