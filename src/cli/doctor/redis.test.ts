import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRedis } from '../../../test/servers/redis.js'
import { startRelay } from '../../../test/servers/relay.js'
import { redisAddress } from '../../cache/redis/address.js'
import { redisInfo } from '../../cache/redis/info.js'
import { eventually } from '../../support/eventually.fixture.js'
import { checkRedis, redisFindings } from './redis.js'

const WELL = {
  redis_version: '7.0.15',
  role: 'master',
  used_memory: '1000000',
  maxmemory: '100000000',
  maxmemory_policy: 'noeviction',
  evicted_keys: '0',
  aof_enabled: '0',
  'config:save': '',
}

function found(info: Record<string, string>): string[] {
  return redisFindings(new Map(Object.entries({ ...WELL, ...info })), 'a:1').map(
    ({ severity, cause, remedy }) => `${severity}: ${cause}${remedy ? `; ${remedy}` : ''}`,
  )
}

test('a healthy server is told with its version, memory and persistence', () => {
  assert.deepEqual(found({}), ['ok: Redis 7.0.15 at a:1, 977 KiB of 96 MiB used, no persistence'])
  assert.match(found({ valkey_version: '8.1.0' })[0]!, /^ok: Valkey 8\.1\.0 at a:1/)
  const kept = found({ aof_enabled: '1', 'config:save': '3600 1' })
  assert.match(kept[0]!, /with an append-only file and snapshots: .* SQL has already and rejects$/)
})

test('each trouble has its cause, its cost and its remedy', () => {
  for (const [info, expected] of [
    [{ redis_version: '5.0.14' }, /^error: Redis a:1 has version 5\.0\.14, .*; update it to 6\.0/],
    [{ role: 'slave' }, /^error: Redis a:1 is a replica and takes no writes.*; name the primary/],
    [{ maxmemory: '0' }, /^warning: Redis a:1 has no maxmemory: .*; set maxmemory/],
    [{ used_memory: '95000000' }, /^warning: Redis a:1 is nearly full \(91 MiB of 96 MiB used\)/],
    [
      { maxmemory_policy: 'allkeys-lru', evicted_keys: '7' },
      /^warning: .*maxmemory-policy allkeys-lru\); it has evicted 7 keys .*; set maxmemory-policy/,
    ],
    [
      { master_repl_offset: '9000000', slave0: 'ip=b,port=1,state=online,offset=2000000,lag=9' },
      /^warning: a replica of Redis a:1 is 7 MiB behind; after a failover/,
    ],
  ] as const) {
    const findings = found(info)
    assert.equal(findings.length, 1, String(findings))
    assert.match(findings[0]!, expected)
  }
  const near = { master_repl_offset: '9000000', slave0: 'ip=b,port=1,offset=8990000,lag=0' }
  assert.match(found(near)[0]!, /^ok/)
  const far = 'ip=c,port=1,state=online,offset=2000000,lag=9'
  assert.match(found({ ...near, slave1: far })[0]!, /a replica of Redis a:1 is 7 MiB behind/)
})

test('a real server is asked; one that is away, or refuses the password, is an error', async () => {
  const server = await startRedis(['--maxmemory', '50mb'])
  try {
    const asked = await checkRedis(redisAddress('cache', server.url))
    assert.equal(asked.length, 1)
    assert.match(
      asked[0]!.cause,
      /^Redis [0-9.]+ at 127\.0\.0\.1:[0-9]+, .* of 50 MiB used, no persis/,
    )
    const [refused] = await checkRedis(
      redisAddress('cache', server.url.replace('//', '//u:secret@')),
    )
    assert.equal(refused!.severity, 'error')
    assert.match(refused!.cause, /WRONGPASS/)
    assert.doesNotMatch(JSON.stringify(refused), /secret/)
    await server.tell('ACL SETUSER shop on >word ~* +@all -info')
    const [unknown] = await checkRedis(
      redisAddress('cache', server.url.replace('//', '//shop:word@')),
    )
    assert.equal(unknown!.severity, 'warning', 'it works')
    assert.match(unknown!.remedy!, /\+info/)
  } finally {
    await server.stop()
  }
  const [gone] = await checkRedis(redisAddress('cache', server.url))
  assert.equal(gone!.severity, 'error')
  assert.match(gone!.cause, /ECONNREFUSED/)
})

test('the connection that asks a server is closed, also where that refuses a part', async () => {
  const server = await startRedis(['--rename-command', 'CONFIG', 'NONE'])
  try {
    const address = redisAddress('server', server.url)
    const clients = async () => Number((await redisInfo(address, 5_000)).get('connected_clients'))
    await clients()
    await eventually('no connection is left', async () => (await clients()) === 1)
    const info = await redisInfo(address, 5_000)
    assert.deepEqual([info.get('role'), info.get('config:save')], ['master', undefined])
  } finally {
    await server.stop()
  }
})

test('the connection to a server that does not tell of itself is closed, too', async () => {
  const server = await startRedis(['--rename-command', 'INFO', 'NONE'])
  const relay = await startRelay(Number(new URL(server.url).port))
  try {
    const address = redisAddress('server', `redis://127.0.0.1:${relay.port}`)
    await assert.rejects(redisInfo(address, 5_000), /unknown command/)
    await eventually('no connection is left', () => relay.connections === 0)
  } finally {
    await relay.close()
    await server.stop()
  }
})
