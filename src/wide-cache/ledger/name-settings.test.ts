import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Cache } from '../../cache/cache.js'
import { memory } from '../../cache/memory.js'
import type { Database } from '../../database/database.js'
import { mysql } from '../../database/mysql/mysql.js'
import { postgres } from '../../database/postgres/postgres.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { SILENT } from '../../support/logger.js'
import { openRows, type OwnSettings } from '../row-recorder.fixture.js'
import {
  enterName,
  KindDiffersError,
  sharedNames,
  type NameSettings,
  type OwnName,
  readNameSettings,
} from './name-settings.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../../test/servers/shared.js'
import { wrapped } from '../../../test/servers/wrapped.js'

/** A cache that several processes may share. */
function shared(): Cache {
  return new Proxy(memory(), {
    get: (target, property) =>
      property === 'scope' ? 'shared' : Reflect.get(target, property).bind(target),
  })
}

/** Processes of one database and one cache, and what is committed by them. */
async function site() {
  const [cache, database] = [shared(), sqlite(':memory:')]
  await database.query(
    'CREATE TABLE taken (place INTEGER PRIMARY KEY, kind TEXT NOT NULL, row TEXT NOT NULL)',
  )
  const open = (kind: string | undefined, own?: OwnSettings, logger = SILENT) =>
    openRows<unknown>(
      {
        name: 'test',
        kind,
        cache,
        database,
        collect: false,
        logger,
        closeTimeoutMs: 100,
        read: async () => 'figures',
        async commit(rows, tx) {
          for (const row of rows) {
            await tx.query('INSERT INTO taken (kind, row) VALUES (?, ?)', [
              kind ?? 'rows',
              String(row),
            ])
          }
        },
      },
      undefined,
      own,
    )
  const taken = async () =>
    (await database.query('SELECT kind, row FROM taken ORDER BY place')).rows.map(
      ({ kind, row }) => [kind, row],
    )
  return { cache, database, open, taken }
}

test('a process of another kind is refused everywhere, and commits none of its rows', async () => {
  const { open, taken, database } = await site()
  const [clicks, orders] = [open('clicks'), open('orders')]
  clicks.append('a')
  await clicks.flush()
  orders.append('b')
  const refused = {
    name: 'KindDiffersError',
    code: 'ERR_WIDE_CACHE_KIND',
    message: new RegExp(
      '^The name "test" is for rows of kind "clicks" in this database, ' +
        String.raw`and this process uses it for kind "orders"\. Give this process another name`,
    ),
  }
  const looks = [
    orders.migrate(),
    orders.read(),
    orders.ledger(),
    orders.drain({ all: true }),
    orders.flush(),
  ]
  await Promise.all(looks.map((look) => assert.rejects(look, refused)))
  assert.deepEqual(await taken(), [])
  await clicks.drain({ all: true })
  assert.deepEqual(await taken(), [['clicks', 'a']])
  assert.equal((await clicks.ledger()).issued, 1)

  // As the error says.
  await database.query("DELETE FROM wide_cache_names WHERE name = 'test'")
  await orders.flush()
  await orders.drain({ all: true })
  assert.deepEqual(await taken(), [
    ['clicks', 'a'],
    ['orders', 'b'],
  ])
  await Promise.all([clicks.close(), orders.close(), database.close()])
})

test('a refused process that only records says so, and close() counts its rows', async () => {
  const { open, database } = await site()
  const log = keptLog()
  await open(undefined).migrate()
  const other = open('orders', undefined, log)
  other.append('a')
  assert.deepEqual(await other.close(), { committed: 0, quarantined: 0, inCache: 0, lost: 1 })
  assert(
    log.lines.some((line) => /The name "test" is for rows of kind "rows"/.test(line)),
    log.lines.join('\n'),
  )
  await database.close()
})

test('a frame of another kind goes to quarantine, and its writer commits its rows', async () => {
  const { open, taken, database } = await site()
  const clicks = open('clicks')
  clicks.append('a')
  await clicks.flush()
  await database.query("UPDATE wide_cache_names SET kind = 'orders'")
  const orders = open('orders')
  assert.equal((await orders.drain({ all: true })).frames, 0)
  assert.deepEqual(await taken(), [])
  assert.deepEqual(await clicks.close(), { committed: 1, quarantined: 0, inCache: 0, lost: 0 })
  assert.deepEqual(await taken(), [['clicks', 'a']])
  await Promise.all([orders.close(), database.close()])
})

test('processes of the package use the same name only for the same of its kinds', async () => {
  const { open, database } = await site()
  const [visits, hits] = [open(undefined, { kind: 'activity' }), open(undefined, { kind: 'hits' })]
  await visits.migrate()
  await assert.rejects(hits.migrate(), {
    message: /for rows of kind "activity" .* uses it for kind "hits"/,
  })
  await Promise.all([visits.close(), hits.close(), database.close()])
})

const DATABASES: [name: string, open: () => Promise<Database>][] = [
  ['SQLite', async () => sqlite(':memory:')],
  ['MySQL', async () => mysql(await sharedMysqlUrl())],
  ['PostgreSQL', async () => postgres(await sharedPostgresUrl())],
]

test('a time that another process has just recorded is replaced by a longer one only', async () => {
  const database = sqlite(':memory:')
  await database.migrate(['wide-cache'])
  const own = (seconds: number): OwnName => ({
    name: 'raced',
    kind: 'rows',
    cellTtlSeconds: seconds,
    directSeconds: seconds,
    vanishedSeconds: seconds,
    nameSettings: {},
  })
  await enterName(database, own(100))
  let isRaced = false
  const raced = wrapped(database, {
    async query(...statement) {
      if (statement[0].startsWith('UPDATE wide_cache_names') && !isRaced) {
        isRaced = true
        await enterName(database, own(300))
      }
      return database.query(...statement)
    },
  })
  await enterName(raced, own(200))
  const { cellTtlSeconds, directSeconds, vanishedSeconds } = (await readNameSettings(
    database,
    'raced',
  ))!
  assert.deepEqual([cellTtlSeconds, directSeconds, vanishedSeconds], [300, 300, 300])
  await database.close()
})

for (const [what, openDatabase] of DATABASES) {
  test(`${what}: the first kind, the longest times and the last window stay`, async () => {
    const database = await openDatabase()
    after(() => database.close())
    await database.migrate(['wide-cache'])
    const name = `use-${what}`
    const own = ({
      keepSeconds = 0,
      repeatSeconds = 0,
      keep = '',
      ...others
    }: Partial<NameSettings>): OwnName => ({
      name,
      kind: 'hits',
      cellTtlSeconds: 100,
      directSeconds: 75,
      vanishedSeconds: 100,
      nameSettings: {
        keepSeconds: { value: keepSeconds, counts: 'longest' },
        repeatSeconds: { value: repeatSeconds, counts: 'last' },
        keep: { value: keep, counts: 'last' },
      },
      ...others,
    })
    const whole = (recorded: Partial<NameSettings>): NameSettings => ({
      gridName: name,
      kind: 'hits',
      cellTtlSeconds: 100,
      directSeconds: 75,
      vanishedSeconds: 100,
      keepSeconds: 0,
      historyDays: 0,
      repeatSeconds: 0,
      keep: '',
      givenTimeZone: '',
      ...recorded,
    })
    await database.query('DELETE FROM wide_cache_names WHERE name = ?', [name])
    assert.equal(await readNameSettings(database, name), undefined)
    const kinds = ['hits', 'activity', 'hits', 'rows']
    const entered = await Promise.allSettled(
      kinds.map((kind) => enterName(database, own({ kind }))),
    )
    const { kind } = (await readNameSettings(database, name))!
    assert.deepEqual(
      entered.map(({ status }) => status === 'fulfilled'),
      kinds.map((given) => given === kind),
    )

    const steps: [Partial<NameSettings>, Partial<NameSettings>][] = [
      [
        { keepSeconds: 500, repeatSeconds: 60 },
        { keepSeconds: 500, repeatSeconds: 60 },
      ],
      [
        { keepSeconds: 400, cellTtlSeconds: 200, directSeconds: 75, vanishedSeconds: 90 },
        { keepSeconds: 500, repeatSeconds: 60, cellTtlSeconds: 200 },
      ],
      [
        { keepSeconds: 600, repeatSeconds: 30 },
        { keepSeconds: 600, repeatSeconds: 30, cellTtlSeconds: 200 },
      ],
      [
        { directSeconds: 75, vanishedSeconds: 300 },
        {
          keepSeconds: 600,
          repeatSeconds: 30,
          cellTtlSeconds: 200,
          directSeconds: 75,
          vanishedSeconds: 300,
        },
      ],
    ]
    steps.push(
      [{ keep: 'sums' }, { ...steps.at(-1)![1], keep: 'sums' }],
      [{}, { ...steps.at(-1)![1], keep: 'sums' }],
      [{ keep: 'rows' }, { ...steps.at(-1)![1], keep: 'rows' }],
    )
    for (const [given, recorded] of steps) {
      await enterName(database, own({ kind, ...given }))
      assert.deepEqual(await readNameSettings(database, name), whole({ kind, ...recorded }))
    }
    await assert.rejects(
      enterName(database, own({ kind: 'other', keepSeconds: 10_000, repeatSeconds: 1 })),
      KindDiffersError,
    )
    assert.deepEqual(await readNameSettings(database, name), whole({ kind, ...steps.at(-1)![1] }))
  })
}

test('names come with the geometry of their newest shared grid, not of private ones', async () => {
  const { open, database, cache } = await site()
  const wide = openRows<unknown>(
    {
      name: 'wide',
      width: 7,
      layerSeconds: 2,
      cellTtlSeconds: 500,
      cache,
      database,
      collect: false,
      logger: SILENT,
      commit: async () => {},
    },
    undefined,
    {
      kind: 'hits',
      nameSettings: {
        keepSeconds: { value: 9, counts: 'longest' },
        historyDays: { value: 5, counts: 'longest' },
        repeatSeconds: { value: 8, counts: 'last' },
      },
    },
  )
  const own = openRows<unknown>({
    name: 'own',
    cache: 'memory:',
    database,
    collect: false,
    logger: SILENT,
    commit: async () => {},
  })
  const test = open('clicks')
  for (const each of [wide, own, test]) await each.migrate()
  assert.deepEqual(await sharedNames(database), [
    {
      name: 'test',
      gridName: 'test',
      kind: 'clicks',
      width: 15,
      layerSeconds: 3,
      cellTtlSeconds: 3600,
      directSeconds: 75,
      vanishedSeconds: 3600,
      keepSeconds: 0,
      historyDays: 0,
      repeatSeconds: 0,
      keep: '',
      givenTimeZone: '',
    },
    {
      name: 'wide',
      gridName: 'wide',
      kind: 'hits',
      width: 7,
      layerSeconds: 2,
      cellTtlSeconds: 500,
      directSeconds: 75,
      vanishedSeconds: 500,
      keepSeconds: 9,
      historyDays: 5,
      repeatSeconds: 8,
      keep: '',
      givenTimeZone: '',
    },
  ])
  await Promise.all([wide.close(), own.close(), test.close()])
  await database.close()
})
