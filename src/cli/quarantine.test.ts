import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, beforeEach, describe, test } from 'node:test'
import express from 'express'
import { createActivity } from '../activity/site-activity.js'
import { memory } from '../cache/memory.js'
import type { Database } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { createHits } from '../hits/item-hits.js'
import { serving, TO_A_PAGE } from '../support/http.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { WideCache } from '../wide-cache/wide-cache.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import type { OptionsOf } from './arguments.js'
import { quarantine } from './quarantine.js'

type QuarantineAction = OptionsOf<'quarantine'>['action']

const folder = temporaryFolder('quarantine')
after(() => removeFolder(folder))
const file = join(folder, 'site.db')
const common = { cache: memory(), collect: false, logger: keptLog() } as const

/** Runs the command: its status, what it prints, and what it logs. */
async function run(action: QuarantineAction, { name, json = false, to = file }: Flags = {}) {
  const log = keptLog()
  let printed = ''
  const status = await quarantine(
    { database: `sqlite:${to}`, name, json, action },
    log,
    (text) => (printed += text),
  )
  return { status, printed, lines: log.lines }
}

interface Flags {
  readonly name?: string
  readonly json?: boolean
  readonly to?: string
}

async function json(action: QuarantineAction, name?: string): Promise<unknown> {
  const { printed } = await run(action, { json: true, ...(name !== undefined && { name }) })
  return JSON.parse(printed) as unknown
}

async function ids(name?: string): Promise<number[]> {
  const listed = (await json({ verb: 'list' }, name)) as { id: number }[]
  return listed.map(({ id }) => id)
}

const RETRY_ALL: QuarantineAction = { verb: 'retry', ids: 'all' }
const HOSTILE = '/\u202e'

/** Runs `work` while the database refuses rows of a table. */
async function refusing(database: Database, table: string, work: () => Promise<void>) {
  await database.query(
    `CREATE TRIGGER refuse BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'no'); END`,
  )
  await work()
  await database.query('DROP TRIGGER refuse')
}

describe('quarantine', () => {
  const database = sqlite(file)
  const activity = createActivity({
    ...common,
    database,
    dimensions: { country: (req) => String(req.headers['x-country']), device: () => 'tablet' },
  })
  const hits = createHits({ ...common, database, name: 'threads' })
  const rows = new WideCache<string | object>({
    ...common,
    database,
    name: 'own',
    commit: () => Promise.reject(new Error('refused')),
  })
  after(async () => {
    await Promise.all([activity.close(), hits.close(), rows.close()])
    await database.close()
  })

  beforeEach(async () => {
    await run({ verb: 'drop', ids: 'all' }).catch(() => undefined)
    await Promise.all([activity.migrate(), hits.migrate(), rows.migrate()])
    await refusing(database, 'activities', async () => {
      activity.record({ page: HOSTILE, visitor: 'anna' })
      await activity.flush()
      await activity.drain({ all: true })
    })
    await refusing(database, 'hits_viewings', async () => {
      for (const viewer of ['anna', 'bert', 'anna']) hits.record('7', { viewer })
      await hits.flush()
      await hits.drain({ all: true })
    })
    rows.append('mine\u009b')
    await rows.flush()
    await rows.drain({ all: true })
  })

  test('list has a line of 80 columns at most for each frame, the oldest first', async () => {
    await database.query('UPDATE wide_cache_quarantine SET reason = ? WHERE name = ?', [
      `\u001b]0;${'x'.repeat(400)}`,
      'own',
    ])
    const { status, printed, lines } = await run({ verb: 'list' })
    assert.deepEqual([status, lines], [0, []])
    assert.match(
      printed,
      /^ID\s+NAME\s+ROWS\s+SINCE\s+REASON\n +\d+\s+activity\s+1\s+20\S+Z\s+SQLITE_\w+\n/,
    )
    assert.deepEqual(
      printed.split('\n').map((line) => line.length <= 80 && !/\p{Cc}/u.test(line)),
      Array(5).fill(true),
    )
    assert.deepEqual(await ids(), [
      ...(await ids('activity')),
      ...(await ids('hits.threads')),
      ...(await ids('own')),
    ])
  })

  test('list has the oldest thousand frames, and says that there are more', async () => {
    await database.query(
      'WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 998) ' +
        'INSERT INTO wide_cache_quarantine (name, writer, sequence, piece, row_count, reason, ' +
        "bytes, created_at) SELECT name, writer, n + sequence, 0, row_count, 'copy', bytes, " +
        "created_at FROM wide_cache_quarantine, numbers WHERE name = 'own'",
    )
    const { printed, lines } = await run({ verb: 'list' })
    assert.deepEqual(lines, ['wide-cache: only the oldest 1,000 are listed; there are more'])
    assert.equal(printed.split('\n').length, 1_002)
    await database.query("DELETE FROM wide_cache_quarantine WHERE reason = 'copy'")
  })

  test('show tells of a frame and its rows, and prints nothing that a terminal obeys', async () => {
    const [[visit = 0], [hit = 0], [own = 0]] = await Promise.all([
      ids('activity'),
      ids('hits.threads'),
      ids('own'),
    ])
    const { printed } = await run({ verb: 'show', id: visit })
    assert.match(printed, /^kind\s+activity$/m)
    assert(printed.includes('"page":"/\\u{202e}","dimensions":{},"visitor":"known"}'))
    assert(!/[^\P{Cc}\n]|\p{Cf}/u.test(printed))
    const shown = (await json({ verb: 'show', id: visit })) as { content: { page: string }[] }
    assert.equal(shown.content[0]!.page, HOSTILE)
    assert.match((await run({ verb: 'show', id: hit })).printed, /"item":"7","viewer":"known"}\n/)
    assert.match((await run({ verb: 'show', id: own })).printed, /\n"mine\\u\{9b\}"\n$/)
    await database.query('UPDATE wide_cache_quarantine SET bytes = ? WHERE id = ?', [
      Buffer.alloc(300, 0x9b),
      visit,
    ])
    assert.match((await run({ verb: 'show', id: visit })).printed, /\n(?:9b){256}\nand 44 more\n$/)
  })

  test('show --json has rows as objects, dimensions by their names, and else as text', async () => {
    await refusing(database, 'activities', async () => {
      const app = express().use(activity.middleware())
      app.get('/page', (_req, res) => void res.send('<p>a page'))
      await serving(app, async (port) => {
        const headers = { ...TO_A_PAGE, 'x-country': 'Österreich' }
        await (await fetch(`http://127.0.0.1:${port}/page`, { headers })).text()
      })
      await activity.flush()
      await activity.drain({ all: true })
    })
    rows.append({ button: 'buy' })
    await rows.flush()
    await rows.drain({ all: true })
    const contentOf = async (name: string) => {
      const id = (await ids(name)).at(-1) ?? 0
      return ((await json({ verb: 'show', id })) as { content: Record<string, unknown>[] }).content
    }
    const [visit] = await contentOf('activity')
    assert.equal(visit?.['page'], '/page')
    assert.deepEqual(visit?.['dimensions'], { country: 'Österreich', device: 'tablet' })
    assert.deepEqual(await contentOf('own'), [{ button: 'buy' }])
    const [first = 0] = await ids('own')
    const text = (await json({ verb: 'show', id: first })) as { content: unknown }
    assert.deepEqual(text.content, ['"mine\u009b"'])
  })

  test('an id that is not there has one exit status', async () => {
    const [own = 0] = await ids('own')
    const actions: QuarantineAction[] = [
      { verb: 'show', id: 1 },
      { verb: 'retry', ids: [1] },
      { verb: 'drop', ids: [1] },
    ]
    for (const action of actions) {
      const { status, printed, lines } = await run(action)
      assert.deepEqual([status, printed], [1, ''])
      assert.match(lines.at(-1)!, /quarantine has no frame 1$/)
    }
    assert.equal((await run({ verb: 'show', id: own }, { name: 'activity' })).status, 1)
  })

  test('retry commits each frame once, as a collector would', async () => {
    const before = await activity.ledger()
    const [own = 0] = await ids('own')
    const { status, lines } = await run(RETRY_ALL)
    assert.equal(status, 1)
    assert.deepEqual(lines, [
      'wide-cache: retried 2 frames with 4 rows',
      `wide-cache: frame ${own} is left as it is: only the processes of "own" can commit rows ` +
        'of kind "rows"',
    ])
    assert.deepEqual(await activity.ledger(), {
      ...before,
      committed: before.committed + 1,
      quarantined: 0,
    })
    assert.equal((await activity.top('page', day()))[0]?.value, HOSTILE)
    await hits.drain()
    assert.equal(await hits.count('7'), 2)
    assert.deepEqual(await hits.top(1, { hours: 2 }), [['7', 2]])
    assert.equal((await hits.ledger()).quarantined, 0)
    assert.deepEqual(await run(RETRY_ALL, { name: 'activity' }), {
      status: 0,
      printed: '',
      lines: ['wide-cache: retried 0 frames with 0 rows'],
    })
  })

  test('a frame that is still refused stays, with the reason', async () => {
    const [id = 0] = await ids('activity')
    await refusing(database, 'activities', async () => {
      const { status, printed } = await run({ verb: 'retry', ids: [id, 1] }, { json: true })
      assert.equal(status, 1)
      assert.deepEqual(JSON.parse(printed), {
        retried: {
          frames: 0,
          rows: 0,
          refused: [
            { id, reason: 'SQLITE_CONSTRAINT_TRIGGER' },
            { id: 1, reason: 'quarantine has no frame 1' },
          ],
        },
      })
    })
    assert.deepEqual(await ids('activity'), [id])
  })

  test('a frame whose writer is unknown stays, and does not stop those behind it', async () => {
    const [first] = await ids()
    await database.query('UPDATE wide_cache_quarantine SET writer = ? WHERE id = ?', [
      Buffer.alloc(16, 7),
      first!,
    ])
    const { status, printed } = await run(RETRY_ALL, { json: true })
    const { retried } = JSON.parse(printed) as {
      retried: { frames: number; refused: { id: number; reason: string }[] }
    }
    assert.equal(status, 1)
    assert.match(retried.refused.find(({ id }) => id === first)!.reason, /does not know its writer/)
    assert.equal(retried.frames, 1)
    assert.equal((await run({ verb: 'drop', ids: 'all' })).status, 0)
    assert.deepEqual(await ids(), [])
  })

  test('tables of a newer version are left alone, unless that lets this one go on', async () => {
    const migrated = (oldest: number): Promise<unknown> =>
      database.query('INSERT INTO wide_cache_migrations VALUES (?, 51, ?, 1, ?)', [
        'activity',
        'future',
        oldest,
      ])
    const forget = 'DELETE FROM wide_cache_migrations WHERE version = 51'
    await migrated(51)
    await assert.rejects(run(RETRY_ALL), /newer|51/)
    await database.query(forget)
    assert.equal((await ids()).length, 3)
    await migrated(1)
    assert.equal((await run({ verb: 'retry', ids: [1] })).status, 1)
    await database.query(forget)
  })

  test('a name that no process has used is refused', async () => {
    await assert.rejects(run({ verb: 'list' }, { name: 'typo' }), /--name: no process has used it/)
  })

  test('drop counts the rows of frames as lost', async () => {
    const before = await hits.ledger()
    const { status, lines } = await run({ verb: 'drop', ids: await ids('hits.threads') })
    assert.equal(status, 0)
    assert.deepEqual(lines, ['wide-cache: dropped 1 frame with 3 rows; they count as lost'])
    assert.deepEqual(await hits.ledger(), { ...before, quarantined: 0, lost: before.lost + 3 })
    assert.equal((await run({ verb: 'drop', ids: 'all' })).status, 0)
    assert.deepEqual(await run({ verb: 'list' }), {
      status: 0,
      printed: '',
      lines: ['wide-cache: nothing is in quarantine'],
    })
  })
})

function day() {
  const now = Date.now()
  return { from: now - 86_400_000, to: now + 3_600_000 }
}

test('a database that is not there is not made', async () => {
  const to = join(folder, 'none.db')
  await assert.rejects(run({ verb: 'list' }, { to }), /^Error: there is no database sqlite:/)
  const empty = sqlite(to)
  await empty.query('SELECT 1')
  await assert.rejects(run({ verb: 'list' }, { to }), /no tables of "wide-cache"/)
  const { rows } = await empty.query('SELECT name FROM sqlite_master')
  assert.deepEqual(rows, [])
  await empty.close()
})
