import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import fs, { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Database, DatabaseError, type Queryable } from '../database/database.js'
import { openDatabase } from '../database/open.js'
import { importPart } from '../hits/import.js'
import { createHits } from '../hits/item-hits.js'
import { eventually } from '../support/eventually.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../test/servers/shared.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { importFile } from './import.js'

const folder = temporaryFolder('import')
after(() => removeFolder(folder))

let files = 0

/** Writes a file, and returns its path. */
function file(text: string | Buffer): string {
  const path = join(folder, `hits-${files++}.csv`)
  writeFileSync(path, text)
  return path
}

interface World {
  readonly database: Database
  readonly hits: ReturnType<typeof createHits>
  /** Runs the command: its status, and what it logs. */
  run(
    path: string,
    flags?: { id?: string; measure?: string; skipInvalid?: boolean; name?: string },
  ): Promise<{ status: number; lines: readonly string[] }>
}

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
      const hits = createHits({ name: 'threads', cache: 'memory:', database, collect: false })
      await hits.migrate()
      try {
        await body({
          database,
          hits,
          async run(path, { id = 'old-forum', skipInvalid = false, ...flags } = {}) {
            const { lines, ...log } = keptLog()
            const options = { database: url, name: 'threads', measure: undefined, ...flags }
            const status = await importFile(
              { ...options, file: path, id, skipInvalid, remove: false },
              {
                lines,
                ...log,
              } as never,
            )
            return { status, lines }
          },
        })
      } finally {
        await hits.close()
        await database.close()
      }
    })
  }
}

each('totals grow by the file once, later views add, and history has none of it', async (world) => {
  const { hits, run } = world
  hits.record('thread-7')
  await hits.flush()
  await hits.drain({ all: true })
  const path = file('\uFEFFitem,hits\r\nthread-7,41\r\n"a ""b"", c\nd",2\r\n\r\nthread-7,"58"\nz,0')
  const first = await run(path)
  assert.deepEqual(first, {
    status: 0,
    lines: [
      'wide-cache: the import "old-forum" into "threads" is done; this run has added 101 hits',
    ],
  })
  const items = ['thread-7', 'a "b", c\nd', 'z']
  assert.deepEqual([...(await hits.counts(items)).values()], [100, 2, 0])
  const again = await run(path)
  assert.equal(again.status, 0)
  assert.match(again.lines.join('\n'), /^wide-cache: .* is done, and was before$/)
  hits.record('thread-7')
  await hits.flush()
  await hits.drain({ all: true })
  assert.deepEqual([...(await hits.counts(items)).values()], [101, 2, 0])
  assert.deepEqual(
    (await hits.history('thread-7', { days: 1 })).map((day) => day.hits),
    [2],
  )
  assert.deepEqual((await hits.top(2))[0], ['thread-7', 101])
})

each(
  'wrong lines are told by number, and change nothing until they are left out',
  async (world) => {
    const { database, hits, run } = world
    const lines = [
      'item,hits',
      'good,5',
      'one cell',
      'good,5,6',
      `${'x'.repeat(256)},1`,
      ',1',
      'good,-1',
      'good,1.5',
      'good,9007199254740992',
      '"good"x,1',
      'go"od,1',
    ]
    const path = file(
      Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), Buffer.from([0xff, 0x2c, 0x31, 0x0a])]),
    )
    const refused = await run(path)
    assert.equal(refused.status, 1)
    assert.deepEqual(
      refused.lines.map((line) => /^wide-cache: wrong line (\d+): /.exec(line)?.[1]),
      ['3', '4', '5', '6', '7', '8', '9', '10', '11', '12', undefined],
    )
    assert.match(refused.lines.at(-1)!, /nothing is imported, because 10 lines .*--skip-invalid/)
    assert.deepEqual((await database.query('SELECT * FROM hits_imports')).rows, [])
    assert.equal(await hits.count('good'), 0)
    const many = await run(file(`item,hits\n${'x\n'.repeat(30)}`), { id: 'many' })
    assert.equal(many.lines.length, 21)
    const skipped = await run(path, { skipInvalid: true })
    assert.match(skipped.lines.at(-1)!, /this run has added 5 hits, and 10 lines .* left out$/)
    assert.deepEqual([skipped.status, await hits.count('good')], [0, 5])
  },
)

each(
  'one that fails in the midst goes on where it ended, though two run at once',
  async (world) => {
    const { database, hits, run } = world
    const item = (n: number): string => `item-${n}`
    const items = Array.from({ length: 2_500 }, (_, n) => item(n))
    const path = file(`item,hits\n${items.map((one, n) => `${one},${n + 1}\n`).join('')}`)
    await run(file(`item,hits\n${item(1_500)},9007199254740991`), { id: 'too-many' })
    await assert.rejects(run(path), /a count past 2\^53-1/)
    assert.deepEqual(await hits.count(item(999)), 1_000)
    assert.deepEqual(await hits.count(item(1_000)), 0)
    await hits.delete(item(1_500))
    const both = await Promise.allSettled([run(path), run(path)])
    for (const one of both) {
      if (one.status === 'rejected') {
        const { reason } = one as { reason: Error }
        assert(
          /another process imports the same list/.test(reason.message) ||
            reason instanceof DatabaseError,
          reason.message,
        )
      }
    }
    const last = await run(path)
    assert.equal(last.status, 0)
    const ended = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const said = [...ended, last].flatMap(({ lines }) => lines).join('\n')
    assert.match(said, /the import "old-forum" goes on after [12]000 lines/)
    const list = {
      name: 'threads',
      id: 'old-forum',
      digest: hash('sha256', readFileSync(path), 'buffer'),
    }
    const late = { from: 1_000, to: 2_000, isLast: false }
    await assert.rejects(
      database.transaction((tx) => importPart(tx, list, [{ item: 'late', hits: 1 }], late)),
      /another process imports the same list under --id old-forum/,
    )
    const next = { from: 2_500, to: 2_501, isLast: true }
    const unwritten = database.transaction((tx) => {
      const query: Queryable['query'] = async (sql, values) => {
        if (sql.startsWith('UPDATE hits_imports')) throw new Error('not written')
        return tx.query(sql, values)
      }
      return importPart(wrapped(tx, { query }), list, [{ item: 'late', hits: 1 }], next)
    })
    await assert.rejects(unwritten, /not written/)
    const { rows } = await database.query('SELECT SUM(hits) AS hits FROM hits_counts')
    assert.equal(Number(rows[0]!['hits']), (2_500 * 2_501) / 2)
  },
)

each('an id stands for one file, and each measure is imported by itself', async (world) => {
  const { database, hits, run } = world
  const [one, other] = [file('item,hits\na,1'), file('item,hits\na,2')]
  await run(one)
  await assert.rejects(run(other), /another file was imported under --id old-forum/)
  assert.equal(await hits.count('a'), 1)
  assert.equal((await run(other, { id: 'other' })).status, 0)
  assert.equal(await hits.count('a'), 3)
  const seen = await run(other, { measure: 'seen' })
  assert.match(seen.lines[0]!, /no process has recorded hits as "hits.threads.seen" yet/)
  assert.equal(await hits.count('a'), 3)
  const { rows } = await database.query('SELECT hits FROM hits_counts WHERE name = ?', [
    'threads.seen',
  ])
  assert.deepEqual(
    rows.map((row) => Number(row['hits'])),
    [2],
  )
})

each('what cannot be read is refused, and nothing is changed', async ({ database, run }) => {
  await assert.rejects(
    run(file('thread,views\na,1')),
    /line 1: the header is not item,hits or day,/,
  )
  await assert.rejects(run(file('')), /line 1: the header is not item,hits or day,/)
  await assert.rejects(
    run(file(`item,hits\na,1\n"b,2\n${'c,3\n'.repeat(2_000)}`), { skipInvalid: true }),
    /line 3: a quote is not closed/,
  )
  await assert.rejects(run(join(folder, 'missing.csv')), /ENOENT/)
  await assert.rejects(run(file('item,hits\n'), { name: 'a b' }), /option "name" is "a b"/)
  await assert.rejects(run(file('item,hits\n'), { id: 'a b' }), /option "id" is "a b"/)
  await assert.rejects(run(file('item,hits\n'), { measure: 'bots' }), /option "measure" is "bots"/)
  assert.deepEqual((await database.query('SELECT * FROM hits_imports')).rows, [])
  assert.deepEqual((await database.query('SELECT * FROM hits_counts')).rows, [])
})

test('a file is closed, imported or not', async (t) => {
  const [opened, closed] = [t.mock.method(fs, 'open'), t.mock.method(fs, 'close')]
  const url = `sqlite:${join(folder, 'closed.db')}`
  const hits = createHits({ name: 'threads', cache: 'memory:', database: url, collect: false })
  await hits.migrate()
  await hits.close()
  const options = { database: url, name: 'threads', measure: undefined, id: 'a', remove: false }
  for (const text of [
    'item,hits\na,1\n',
    'thread,views\n',
    `item,hits\n${'a,x\n'.repeat(40_000)}`,
  ]) {
    const run = importFile({ ...options, file: file(text), skipInvalid: false }, keptLog())
    await run.catch(() => undefined)
  }
  await eventually('all are closed', () => {
    return opened.mock.callCount() > 0 && opened.mock.callCount() === closed.mock.callCount()
  })
})
