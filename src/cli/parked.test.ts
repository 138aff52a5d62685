import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CollisionFreeMap } from '../collision-free-map/collision-free-map.js'
import type { Database } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { ExportQueue } from '../export-queue/export-queue.js'
import { keptLog, type KeptLog } from '../support/kept-log.fixture.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import type { OptionsOf } from './arguments.js'
import { parked } from './parked.js'

type ParkedAction = OptionsOf<'parked'>['action']

const folder = temporaryFolder('parked')
after(() => removeFolder(folder))

interface World {
  readonly database: Database
  readonly map: CollisionFreeMap<string, number>
  readonly queue: ExportQueue<string, number>
  readonly log: KeptLog
  /** Keys that `combine` and `exporter` fail at. */
  readonly bad: Set<string>
  readonly exported: string[]
  /** The entries of each call of the exporter. */
  readonly calls: number[]
  /** Runs in the middle of a call of the exporter. */
  during?: () => Promise<void>
  /** Runs the command: its status, what it prints, and what it logs. */
  run(action: ParkedAction, flags?: { name?: string; json?: boolean }): Promise<Ran>
  /** Has the queue fail until one entry is left that it fails at. */
  failUpToOne(): Promise<void>
}

interface Ran {
  readonly status: number
  readonly printed: string
  readonly lines: readonly string[]
}

let files = 0
const databases: [string, () => Promise<string>][] = [
  ['SQLite', async () => `sqlite:${join(folder, `${files++}.db`)}`],
  ['MariaDB', sharedMysqlUrl],
  ['PostgreSQL', sharedPostgresUrl],
]

function each(name: string, body: (world: World) => Promise<void>): void {
  for (const [where, fresh] of databases) {
    test(`${where}: ${name}`, async () => {
      const url = await fresh()
      const { database } = openDatabase(url)
      const [log, bad, exported] = [keptLog(), new Set<string>(), [] as string[]]
      const common = { database, every: false, buckets: 1, logger: log } as const
      const fail = (key: string): void => {
        if (bad.has(key)) throw new Error(`not ${key}\u001b[31m`)
      }
      const map = new CollisionFreeMap<string, number>({
        ...common,
        name: 'stock',
        combine(key, current = 0, updates) {
          fail(key)
          return updates.reduce((sum, n) => sum + n, current)
        },
      })
      const queue = new ExportQueue<string, number>({
        ...common,
        name: 'prices',
        async exporter(entries) {
          world.calls.push(entries.length)
          await world.during?.()
          for (const { key } of entries) fail(key)
          exported.push(...entries.map(({ key }) => key))
        },
      })
      const world: World = {
        database,
        map,
        queue,
        log,
        bad,
        exported,
        calls: [],
        async run(action, { name, json = false } = {}) {
          const { lines, ...log } = keptLog()
          let printed = ''
          const options = { database: url, name, json, action }
          const status = await parked(options, { lines, ...log } as never, (text) => {
            printed += text
          })
          return { status, printed, lines }
        },
        async failUpToOne() {
          const failures = async (): Promise<number> => {
            const { rows } = await database.query('SELECT failures FROM export_queue_leases')
            return Number(rows[0]?.['failures'] ?? 0)
          }
          for (let tries = 0; (await failures()) < 5; tries++) {
            assert(tries < 100, 'it comes down to one')
            await queue.process().catch(() => undefined)
            await database.query('UPDATE export_queue_leases SET held_until = 0')
          }
        },
      }
      try {
        await Promise.all([map.migrate(), queue.migrate()])
        await body(world)
      } finally {
        await Promise.all([map.close(), queue.close()])
        await database.close()
      }
    })
  }
}

const LIST: ParkedAction = { verb: 'list' }

async function listed(world: World, name?: string): Promise<Record<string, unknown>[]> {
  const { status, printed } = await world.run(LIST, { json: true, ...(name && { name }) })
  assert.equal(status, 0)
  return JSON.parse(printed) as Record<string, unknown>[]
}

/** 300 entries, of which the 200th fails. */
async function poisoned({ database, queue, bad, ...world }: World): Promise<void> {
  bad.add('k199')
  await database.transaction(async (tx) => {
    for (let i = 0; i < 300; i++) await queue.add(`k${i}`, i, tx)
  })
  await world.failUpToOne()
}

each('a poison entry is found among others, shown, and skipped', async (world) => {
  const { run, queue, exported, database, log } = world
  await poisoned(world)
  const [one, ...others] = await listed(world)
  assert.deepEqual(others, [])
  const { id } = one as { id: string }
  assert.match(id, /^entry-\d+$/)
  assert.deepEqual(
    [one!['name'], one!['failures'], one!['entries'], one!['reason']],
    ['prices', 5, 1, 'Error: not k199\u001b[31m'],
  )
  assert.match(
    log.lines.join('\n'),
    new RegExp(
      `"prices" has failed again at a single entry, .* run wide-cache parked show ${id}, `,
    ),
  )
  const shown = await run({ verb: 'show', id })
  assert.match(shown.printed, /^key: "k199"\nvalue: 199\n$/m)
  assert(!shown.printed.includes('\u001b'), 'nothing that a terminal obeys')
  // All that come before it in the order of hashes have come.
  assert(!exported.includes('k199') && new Set(exported).size === exported.length)
  assert.deepEqual(await run({ verb: 'skip', ids: [id] }), {
    status: 0,
    printed: '',
    lines: ['wide-cache: skipped 1 of what is parked'],
  })
  await queue.process()
  assert.equal(new Set(exported).size, 299)
  assert.equal(exported.length, 299)
  assert.deepEqual((await database.query('SELECT * FROM export_queue_entries')).rows, [])
  assert.deepEqual((await database.query('SELECT * FROM export_queue_leases')).rows, [])
  assert.deepEqual((await run(LIST)).lines, ['wide-cache: nothing is parked'])
  const again = await run({ verb: 'skip', ids: [id] }, { json: true })
  assert.deepEqual(
    [again.status, JSON.parse(again.printed)],
    [1, { skipped: { done: 0, refused: [{ id, reason: 'it is not parked' }] } }],
  )
})

each('of a failing entry it is told how many the last call had, and skip waits', async (world) => {
  const { run, queue, bad, calls, database } = world
  bad.add('k199')
  await database.transaction(async (tx) => {
    for (let i = 0; i < 300; i++) await queue.add(`k${i}`, i, tx)
  })
  for (let tries = 0; calls.at(-1) !== 1; tries++) {
    assert(tries < 30, 'it comes down to one')
    await assert.rejects(queue.process(), /not k199/)
    const [one] = await listed(world)
    assert.equal(one!['entries'], calls.at(-1), calls.join())
    if (calls.at(-1) !== 1) assert.equal((await run({ verb: 'skip', ids: 'all' })).status, 1)
    await database.query('UPDATE export_queue_leases SET held_until = 0')
  }
  assert(calls.length > 3, calls.join())
})

each('an entry is tried again at once, and not skipped before it is known', async (world) => {
  const { run, queue, bad, exported, database } = world
  bad.add('b')
  await database.transaction(async (tx) => {
    for (const key of ['a', 'b']) await queue.add(key, 1, tx)
  })
  await assert.rejects(queue.process(), /not b/)
  const [one] = await listed(world, 'prices')
  const { id } = one as { id: string }
  const early = await run({ verb: 'skip', ids: [id] })
  assert.equal(early.status, 1)
  assert.match(early.lines[1]!, new RegExp(`${id} stays as it is: the last call had 2 entries`))
  bad.clear()
  const restsUntil = async (): Promise<number> =>
    Number(
      (await database.query('SELECT held_until FROM export_queue_leases')).rows[0]!['held_until'],
    )
  assert((await restsUntil()) > 0, 'it rests')
  assert.equal((await run({ verb: 'retry', ids: 'all' })).status, 0)
  assert.equal(await restsUntil(), 0)
  assert.equal(await queue.process(), 2)
  assert.deepEqual(exported.toSorted(), ['a', 'b'])
})

each('an entry that comes before the failing one is not taken for it', async (world) => {
  const { run, queue, bad, exported, database } = world
  bad.add('b')
  await database.transaction((tx) => queue.add('b', 1, tx))
  await world.failUpToOne()
  const others = Array.from({ length: 50 }, (_, i) => `k${i}`)
  await database.transaction(async (tx) => {
    for (const key of others) await queue.add(key, 1, tx)
  })
  const [one] = await listed(world)
  assert.equal(one!['entries'], 1)
  assert.match((await run({ verb: 'show', id: String(one!['id']) })).printed, /^key: "b"$/m)
  assert.equal((await run({ verb: 'skip', ids: 'all' })).status, 0)
  await queue.process()
  assert.deepEqual(exported.toSorted(), others.toSorted())
})

each(
  'entries that are added meanwhile do not put off that the failing one is found',
  async (world) => {
    const { run, queue, bad, exported, database } = world
    bad.add('b')
    await database.transaction((tx) => queue.add('b', 1, tx))
    let added = 0
    const one = async () => (await listed(world))[0]
    for (let tries = 0; (await one())?.['failures'] !== 5; tries++) {
      assert(tries < 20, 'it comes down to one')
      await database.transaction(async (tx) => {
        for (let i = 0; i < 30; i++) await queue.add(`k${added++}`, 1, tx)
      })
      await queue.process().catch(() => undefined)
      await database.query('UPDATE export_queue_leases SET held_until = 0')
    }
    assert.equal((await one())!['entries'], 1)
    assert.equal((await run({ verb: 'skip', ids: 'all' })).status, 0)
    await queue.process()
    assert.equal(exported.length, added)
    assert.equal(new Set(exported).size, added)
  },
)

each('an entry whose exporter is at work is left to it', async (world) => {
  const { run, queue, bad, database } = world
  bad.add('b')
  await database.transaction((tx) => queue.add('b', 1, tx))
  await assert.rejects(queue.process(), /not b/)
  await database.query('UPDATE export_queue_leases SET held_until = 0')
  let looked = 0
  world.during = async () => {
    looked++
    const [one] = await listed(world)
    assert.match(String(one!['reason']), /^Error: not b/, 'the last failure is still known')
    for (const verb of ['retry', 'skip'] as const) {
      const { status, lines } = await run({ verb, ids: [String(one!['id'])] })
      assert.equal(status, 1)
      assert.match(lines[1]!, /the exporter is at work at it/)
    }
    const { rows } = await database.query('SELECT held_until FROM export_queue_leases')
    assert(Number(rows[0]?.['held_until']) > 0, 'its lease is not taken away')
  }
  await assert.rejects(queue.process(), /^Error: not b/)
  assert.equal(looked, 1)
})

each('parked updates are listed, shown, queued again and skipped', async (world) => {
  const { run, map, bad, log } = world
  bad.add('apples').add('pears')
  await map.update([
    ['apples', 1],
    ['pears', 2],
    ['plums', 4],
  ])
  await map.process()
  assert.deepEqual(log.lines, [
    'wide-cache: map "stock" has parked 2 updates, because combine threw; run wide-cache ' +
      'parked list --name stock',
  ])
  const found = await listed(world, 'stock')
  assert.deepEqual(
    found.map(({ name, failures, entries, reason }) => [name, failures, entries, reason]),
    ['apples', 'pears'].map((key) => ['stock', 1, 1, `Error: not ${key}\u001b[31m`]),
  )
  const [apples, pears] = found.map(({ id }) => String(id)) as [string, string]
  assert.match((await run(LIST)).printed, /^ID +NAME +FAILED +OF +LAST +REASON\nupdate-\d+ +stock /)
  const shown = await run({ verb: 'show', id: pears })
  assert.match(shown.printed, /^key: "pears"\nvalue: 2\nnow: no value\nlater: 0\n$/m)
  assert.deepEqual(shown.lines, [])
  assert.deepEqual(await run({ verb: 'show', id: 'update-999999999' }), {
    status: 1,
    printed: '',
    lines: ['wide-cache: update-999999999 is not parked'],
  })
  await assert.rejects(run(LIST, { name: 'typo' }), /names of this database: prices, stock$/)
  await assert.rejects(run(LIST, { name: 'a b' }), /option "name" is "a b"/)
  bad.clear()
  assert.equal((await run({ verb: 'retry', ids: [apples] }, { name: 'stock' })).status, 0)
  assert.equal((await run({ verb: 'skip', ids: [pears] })).status, 0)
  assert.equal((await run({ verb: 'retry', ids: [pears] })).status, 1)
  assert.equal(await map.parked(), 0)
  await map.process()
  assert.deepEqual([await map.get('apples'), await map.get('pears')], [1, undefined])
})

each('show warns where a retry may put an old value over a newer one', async (world) => {
  const { run, map, bad, database } = world
  bad.add('apples')
  await map.update([['pears', 5]])
  await map.update([['apples', 1]])
  await map.process()
  const [one] = await listed(world, 'stock')
  const id = String(one!['id'])
  bad.clear()
  // Its transaction has begun before, and committed after.
  await database.query(
    'INSERT INTO collision_free_map_queue (id, map, hash, map_key, map_value) ' +
      'SELECT id - 1, map, hash, map_key, map_value FROM collision_free_map_parked',
  )
  await map.update([
    ['apples', 2],
    ['pears', 7],
  ])
  const queued = await run({ verb: 'show', id })
  assert.match(queued.printed, /^value: 1\nnow: no value\nlater: 1\n$/m)
  assert.match(queued.lines.join('\n'), /^wide-cache: later updates of this key wait; .* skip it$/)
  await map.process()
  const combined = await run({ verb: 'show', id }, { json: true })
  const { now, later } = JSON.parse(combined.printed) as Record<string, unknown>
  assert.deepEqual([now, later], ['3', 0])
  assert.match(combined.lines.join('\n'), /^wide-cache: the key has a value; .* skip it$/)
})

each('of a long value its beginning is shown, as text or in hexadecimal', async (world) => {
  const { run, map, bad, database } = world
  bad.add('apples')
  await map.update([['apples', 1]])
  await map.process()
  const id = String((await listed(world))[0]!['id'])
  const umlauts = 'ä'.repeat(999)
  for (const [value, shown] of [
    ['x'.repeat(2_000), 'x'.repeat(2_000)],
    ['x'.repeat(2_001), `${'x'.repeat(2_000)}… (2001 bytes)`],
    // The end cuts a character.
    [`x${umlauts}ä`, `x${umlauts}… (2001 bytes)`],
    [Buffer.from('c3', 'hex'), 'c3'],
    [Buffer.alloc(2_001, 0xff), `${'ff'.repeat(2_000)}… (2001 bytes)`],
  ] as const) {
    await database.query('UPDATE collision_free_map_parked SET map_value = ?', [Buffer.from(value)])
    const { printed } = await run({ verb: 'show', id }, { json: true })
    assert.equal((JSON.parse(printed) as { value: unknown }).value, shown)
  }
})

each('all is what the list shows, entries behind many updates too', async (world) => {
  const { run, map, queue, bad, database } = world
  const keys = Array.from({ length: 1_001 }, (_, i) => `k${i}`)
  for (const key of keys) bad.add(key)
  await map.update(keys.map((key) => [key, 1]))
  await map.process()
  await database.transaction((tx) => queue.add('k0', 1, tx))
  await assert.rejects(queue.process(), /not k0/)
  const { printed, lines } = await run(LIST, { json: true })
  const ids = (JSON.parse(printed) as { id: string }[]).map(({ id }) => id)
  assert.equal(ids.filter((id) => id.startsWith('update-')).length, 1_000)
  assert.equal(ids.filter((id) => id.startsWith('entry-')).length, 1)
  assert.deepEqual(lines, [
    'wide-cache: only 1,001 parked updates and entries are listed; there are more',
  ])
  assert.deepEqual((await run({ verb: 'skip', ids: 'all' })).lines, [
    'wide-cache: skipped 1,001 of what is parked',
  ])
  assert.equal((await listed(world)).length, 1)
})

each('a name leaves alone what is parked under another one', async (world) => {
  const { run, map, queue, bad, database } = world
  bad.add('a')
  await map.update([['a', 1]])
  await map.process()
  await database.transaction((tx) => queue.add('a', 1, tx))
  await assert.rejects(queue.process(), /not a/)
  const all = await listed(world)
  for (const [name, other] of [
    ['stock', 'prices'],
    ['prices', 'stock'],
  ] as const) {
    assert.deepEqual(
      await listed(world, name),
      all.filter((one) => one['name'] === name),
    )
    const id = String(all.find((one) => one['name'] === other)!['id'])
    assert.equal((await run({ verb: 'show', id }, { name })).status, 1)
    for (const verb of ['retry', 'skip'] as const) {
      assert.equal((await run({ verb, ids: [id] }, { name })).status, 1)
    }
  }
  assert.deepEqual(await listed(world), all)
  assert.equal((await run({ verb: 'skip', ids: 'all' }, { name: 'stock' })).status, 0)
  assert.deepEqual(
    await listed(world),
    all.filter((one) => one['name'] === 'prices'),
  )
})
