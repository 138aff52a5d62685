/** The promises of hits, on any pair of a cache and a database. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import fc from '../../test/fast-check.js'
import { fewOrMany } from '../../test/scale.js'
import { type Pair, randomFrom, type Site } from '../counters/pairs.fixture.js'
import { FaultyCache } from '../../test/simulated-world/faulty-cache.js'
import { failingAnywhere, type FaultyDatabase } from '../../test/simulated-world/faulty-database.js'
import { type Database, DatabaseError } from '../database/database.js'
import { shifted } from '../database/shifted.fixture.js'
import { type Environment, systemEnvironment } from '../support/environment.js'
import { eventually } from '../support/eventually.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { commitHits } from './commit.js'
import { readCounts, readTop } from './counts.js'
import type { Hit } from './hit.js'
import { ItemHits } from './item-hits.js'
import { type HitsOptions, hitsSettings } from './options.js'
import { removeOldHits } from './retention.js'
import { UTC } from '../support/calendar.js'

const WINDOW_MS = 600_000

/**
 * Layers so long that none of what a test records is old: its hits come to SQL by
 * `drain({ all: true })` only, or at closing.
 */
const LONG_LAYERS = {
  repeatSeconds: WINDOW_MS / 1000,
  layerSeconds: 3600,
  cellTtlSeconds: 6 * 3600,
}

/** An environment and a database with one time, which can be set. */
interface Calendar extends Environment {
  /** Milliseconds by which it is ahead of the machine's. */
  shift(): number
  /** Sets it: at first to any moment, and then only forward, as after a sleep. */
  set(ms: number): void
}

function calendar(): Calendar {
  let shift = 0
  const { clock } = systemEnvironment
  return {
    ...systemEnvironment,
    shift: () => shift,
    clock: { ...clock, now: () => Math.floor(clock.now() + shift) },
    // A process's reading of the database's clock may be some milliseconds behind.
    set(ms) {
      shift = ms + 1_000 - clock.now()
    },
  }
}

/** The beginning of a window, with three more before the present. */
const NOON = Math.floor(systemEnvironment.clock.now() / WINDOW_MS - 4) * WINDOW_MS

const newName = (): string => `t${randomBytes(6).toString('hex')}`
const viewerOf = (number: number): Buffer => Buffer.alloc(12, number)

/** The hits expected of each item: anonymous ones, and different viewers a window. */
function model(
  hits: Iterable<{ item: string; viewer: unknown; window: number }>,
): Map<string, number> {
  const counts = new Map<string, number>()
  const seen = new Set<string>()
  for (const { item, viewer, window } of hits) {
    const key = JSON.stringify([item, viewer, window])
    if (viewer !== null && seen.has(key)) continue
    seen.add(key)
    counts.set(item, (counts.get(item) ?? 0) + 1)
  }
  return counts
}

function onlyLocks(error: unknown): void {
  if (!(error instanceof DatabaseError && error.category === 'lock')) throw error
}

export function hitsSuite(pair: Pair): void {
  /** A test with a site of its own, and hits on it as if each were a process. */
  const hitsTest = (title: string, body: (it: Bench) => Promise<void>): void => {
    test(title, async () => {
      const site = await pair.open()
      const cache = site.cache()
      const name = newName()
      const opened: ItemHits[] = []
      const log = keptLog()
      const open = (
        options: Partial<HitsOptions> = {},
        environment?: Environment | Calendar,
      ): ItemHits => {
        const own = options.database ?? site.database()
        const isShifted = environment && 'shift' in environment && typeof own !== 'string'
        const database = isShifted ? shifted(own, environment.shift) : own
        const hits = new ItemHits(
          hitsSettings({ name, cache, collect: false, logger: log, ...options, database }),
          environment,
        )
        opened.push(hits)
        return hits
      }
      try {
        await body({ site, name, log: log.lines, open })
      } finally {
        await Promise.all(opened.map((hits) => hits.close()))
        await site.close()
      }
    })
  }

  interface Bench {
    readonly site: Site
    readonly name: string
    readonly log: string[]
    open(options?: Partial<HitsOptions>, environment?: Environment): ItemHits
  }

  /** All that was recorded is in SQL. */
  const drainAll = async (...all: ItemHits[]): Promise<void> => {
    await Promise.all(all.map((hits) => hits.flush()))
    for (const hits of all) await hits.drain({ all: true })
  }

  describe(`Hits on ${pair.name}`, () => {
    hitsTest(
      'a viewer counts once per item and window, in all processes; who is unknown counts ' +
        'every time',
      async ({ open, log }) => {
        const time = calendar()
        time.set(NOON)
        const [one, other] = [open(LONG_LAYERS, time), open(LONG_LAYERS, time)]
        for (const hits of [one, one, other]) {
          hits.record('a', { viewer: 'anna' })
          hits.record('a', { viewer: 'bert' })
          hits.record('b', { viewer: 'anna' })
          hits.record('c')
          hits.record('c', {})
        }
        await drainAll(one, other)
        const expected = [
          ['a', 2],
          ['b', 1],
          ['c', 6],
          ['d', 0],
        ]
        assert.deepEqual([...(await one.counts(['a', 'b', 'c', 'd']))], expected)
        assert.deepEqual([...(await other.counts(['a', 'b', 'c', 'd']))], expected)

        time.set(NOON + WINDOW_MS - 60_000)
        other.record('a', { viewer: 'anna' })
        await drainAll(other)
        assert.equal(await one.count('a'), 2, 'the same window')
        time.set(NOON + WINDOW_MS)
        one.record('a', { viewer: 'anna' })
        other.record('a', { viewer: 'anna' })
        await drainAll(one, other)
        assert.equal(await one.count('a'), 3, 'the next one')
        assert.deepEqual(
          log.filter((line) => !line.includes('clock')),
          [],
        )
      },
    )

    hitsTest(
      'all processes go by the window that was given last, also those that were given none',
      async ({ open }) => {
        const time = calendar()
        time.set(NOON)
        const { repeatSeconds: _, ...layers } = LONG_LAYERS
        const given = open({ ...layers, repeatSeconds: 60 }, time)
        const not = open(layers, time)
        await given.migrate()
        for (const hits of [not, given]) {
          hits.record('a', { viewer: 'anna' })
          await drainAll(hits)
        }
        assert.equal(await not.count('a'), 1)
        time.set(NOON + 60_000)
        for (const hits of [not, given]) {
          hits.record('a', { viewer: 'anna' })
          await drainAll(hits)
        }
        assert.equal(await not.count('a'), 2, 'the next of 60 s')
        await open({ ...layers, repeatSeconds: 600 }, time).migrate()
        time.set(NOON + 120_000)
        given.record('a', { viewer: 'anna' })
        await drainAll(given)
        assert.equal(await not.count('a'), 2, 'the same of 600 s')
      },
    )

    hitsTest("the author's own views never count", async ({ open, log }) => {
      const hits = open()
      hits.record('a', { viewer: 'anna', owner: 'anna' })
      hits.record('a', { viewer: 'anna', owner: true })
      hits.record('a', { owner: true })
      assert.equal((await hits.ledger()).issued, 0)
      hits.record('a', { viewer: 'bert', owner: 'anna' })
      hits.record('a', { viewer: 'cleo', owner: false })
      hits.record('a', { owner: 'anna' })
      hits.record('a', { viewer: '', owner: '' })
      await drainAll(hits)
      assert.equal(await hits.count('a'), 4)
      assert.deepEqual(log, [], 'an empty text is nobody, and no mistake')
    })

    hitsTest(
      'a viewer or owner that is a number is one, the same as its text',
      async ({ open, log }) => {
        const hits = open()
        for (const [viewer, owner] of [
          [7, 7],
          [7, '7'],
          ['7', 7],
          [7n, 7],
          [0, 0],
        ] as const) {
          hits.record('a', { viewer, owner })
        }
        assert.equal((await hits.ledger()).issued, 0)
        for (const viewer of [7, '7', 7n, 8, 0] as const) hits.record('a', { viewer, owner: 1 })
        await drainAll(hits)
        assert.equal(await hits.count('a'), 3)
        assert.deepEqual(log, [])
      },
    )

    hitsTest(
      'a viewer or owner that is NaN or infinite is nobody, and the log says so',
      async ({ open, log }) => {
        const hits = open()
        for (const nobody of [NaN, NaN, Infinity]) {
          hits.record('a', { viewer: nobody, owner: nobody })
        }
        await drainAll(hits)
        assert.equal(await hits.count('a'), 3)
        assert.deepEqual(
          log.map((line) => /NaN as "(\w+)"/.exec(line)?.[1]),
          ['viewer', 'owner'],
        )
      },
    )

    hitsTest('count, counts and top have all that is committed', async ({ open }) => {
      const hits = open()
      for (let i = 0; i < 3; i++) hits.record('a')
      for (let i = 0; i < 9; i++) hits.record('b')
      await drainAll(hits)
      assert.deepEqual(
        [...(await hits.counts(['b', 'x', 'a', 'b']))],
        [
          ['b', 9],
          ['x', 0],
          ['a', 3],
        ],
      )
      assert.equal(await hits.count('a'), 3)
      assert.deepEqual(await hits.top(5), [
        ['b', 9],
        ['a', 3],
      ])
      assert.deepEqual(await hits.top(1), [['b', 9]])
      assert.deepEqual([...(await hits.counts([]))], [])
    })

    hitsTest('counts asks SQL once, however many items', async ({ open, site }) => {
      let statements = 0
      const database = site.database()
      const query = database.query.bind(database)
      database.query = (sql, ...values) => {
        if (sql.includes('hits_counts')) statements++
        return query(sql, ...values)
      }
      const hits = open({ database })
      await hits.migrate()
      statements = 0
      await hits.counts(Array.from({ length: 1_000 }, (_, i) => `item ${i}`))
      assert.equal(statements, 1)
    })

    hitsTest(
      'items that look alike are different ones, whatever text they are',
      async ({ open }) => {
        const hits = open()
        const items = [
          'a',
          'A',
          'a ',
          ' a',
          'ä',
          'a\u0308',
          'a\0',
          '1',
          '01',
          '1e0',
          '%',
          "' OR 1=1; -- ",
          '\\',
          '😀',
          '日'.repeat(85),
          'x'.repeat(255),
          '\uffff',
          '__proto__',
        ]
        for (const [i, item] of items.entries()) for (let n = 0; n <= i; n++) hits.record(item)
        for (let n = 0; n <= items.length; n++) hits.record('\ud800')
        await drainAll(hits)
        const expected = items.map((item, i) => [item, i + 1])
        assert.deepEqual([...(await hits.counts(items))], expected)
        assert.deepEqual(await hits.top(100), [
          ['\ufffd', items.length + 1],
          ...expected.toReversed(),
        ])
        assert.equal(
          await hits.count('\ud800'),
          items.length + 1,
          'no Unicode: what it is in UTF-8',
        )
      },
    )

    hitsTest(
      'what is no item is not counted, and is said once without its value; nothing throws',
      async ({ open, log }) => {
        const hits = open()
        for (const item of ['', 'x'.repeat(256), '日'.repeat(86), undefined, null, 7, {}, []]) {
          hits.record(item as string)
        }
        assert.equal((await hits.ledger()).issued, 0)
        assert.equal(log.length, 1)
        assert.match(
          log[0]!,
          new RegExp(
            '^wide-cache: a hit has an empty text as "item", ' +
              'not a text of 1 to 255 bytes; the hit is not counted$',
          ),
        )
        hits.record('a', null as never)
        hits.record('a', { viewer: NaN })
        hits.record('a', { viewer: 'anna', owner: {} as never })
        const fails = () => {
          throw new Error('a trap')
        }
        const hostile = new Proxy({}, { get: fails, getPrototypeOf: fails })
        hits.record(hostile as never)
        hits.record('a', hostile)
        hits.record('a', { viewer: hostile as never })
        hits.record('a', 0 as never)
        await drainAll(hits)
        assert.equal(await hits.count('a'), 6)
        assert.match(
          log[1]!,
          /NaN as "viewer", not a text or a number; the hit counts without a viewer/,
        )
        assert.match(
          log[2]!,
          /an object as "owner", not a text, a number or a boolean; the hit counts/,
        )
        assert.equal(await hits.count('x'.repeat(256)), 0)
        assert.equal(await hits.count(''), 0)
        await assert.rejects(hits.count(7 as never), TypeError)
        for (const wrong of ['abc', 7, undefined, null, [1], {}]) {
          await assert.rejects(hits.counts(wrong as never), {
            name: 'TypeError',
            message: /option "items" is/,
          })
        }
        await assert.rejects(hits.counts(Array(1001).fill('a')), RangeError)
        for (const wrong of [0, 1001, 1.5, NaN]) await assert.rejects(hits.top(wrong), RangeError)
        await assert.rejects(hits.top('1' as never), TypeError)
        const [from, to] = [0, 3_600_000]
        assert.deepEqual(await hits.top(1, { from, to }), [])
        await assert.rejects(hits.top(1, { from: to, to: from }), RangeError)
        await assert.rejects(hits.top(1, { from, to, hours: 1 } as never), /is unknown/)
        assert.equal((await hits.history('a', { from, to, by: 'hour' })).length, 1)
        for (const wrong of [{ from: to, to: 0 }, { to: Date.UTC(1990, 0) }, { by: 'week' }]) {
          const query = { from, to, by: 'day', ...wrong } as never
          await assert.rejects(hits.history('a', query), RangeError)
        }
        for (const wrong of [null, 7, 'day']) {
          await assert.rejects(hits.history('a', wrong as never), {
            name: 'TypeError',
            message: /option/,
          })
        }
      },
    )

    hitsTest('a deleted item has no hits; later ones count anew', async ({ open, site, name }) => {
      const hits = open()
      for (let i = 0; i < 3; i++) for (const item of ['a', 'b']) hits.record(item)
      await drainAll(hits)
      assert.equal(await hits.delete('a'), 3)
      assert.deepEqual(
        [...(await hits.counts(['a', 'b']))],
        [
          ['a', 0],
          ['b', 3],
        ],
      )
      assert.deepEqual(
        [
          await hits.delete('a'),
          await hits.delete('never'),
          await hits.delete('x'.repeat(300)),
          await hits.delete(''),
        ],
        [0, 0, 0, 0],
      )
      assert.deepEqual(await hits.top(9), [['b', 3]])
      for (const table of ['hits_counts', 'hits_hours', 'hits_days']) {
        const { rows } = await site
          .database()
          .query(`SELECT item FROM ${table} WHERE name = ?`, [name])
        assert.deepEqual(
          rows.map(({ item }) => String(item)),
          ['b'],
          'nothing of it is left',
        )
      }
      hits.record('a')
      await drainAll(hits)
      assert.deepEqual(await hits.top(9), [
        ['b', 3],
        ['a', 1],
      ])
    })

    hitsTest(
      'a renamed item gives its hits to the other one, and nothing of it is left',
      async ({ open, site, name }) => {
        const hits = open()
        for (let i = 0; i < 3; i++) hits.record('old')
        hits.record('new')
        await drainAll(hits)
        assert.equal(await hits.rename('old', 'new'), 3)
        assert.deepEqual(
          [...(await hits.counts(['old', 'new']))],
          [
            ['old', 0],
            ['new', 4],
          ],
        )
        assert.equal(await hits.rename('new', 'new'), 4)
        assert.equal(await hits.rename('new', '日'.repeat(85)), 4)
        assert.deepEqual(await hits.top(9), [['日'.repeat(85), 4]])
        assert.equal(await hits.rename('old', 'new'), 0)
        assert.equal(await hits.rename('old', '日'.repeat(85)), 0)
        const { rows } = await site
          .database()
          .query('SELECT hits FROM hits_counts WHERE name = ?', [name])
        assert.deepEqual(rows, [{ hits: 4 }])
        for (const [from, to, option] of [
          [7, 'a', 'item'],
          ['a', 7, 'newItem'],
          ['a', undefined, 'newItem'],
        ]) {
          await assert.rejects(hits.rename(from as string, to as string), {
            name: 'TypeError',
            message: new RegExp(`option "${option}"`),
          })
        }
        for (const to of ['', 'x'.repeat(256)]) {
          await assert.rejects(hits.rename('a', to), RangeError)
        }
        await assert.rejects(hits.delete(7 as never), TypeError)
      },
    )

    hitsTest(
      'deleting and renaming lose and double nothing while others record and collect',
      async ({ open }) => {
        const processes = [open(), open(), open()]
        await Promise.all(processes.map((hits) => hits.migrate()))
        const items = ['a', 'b', 'c']
        let [recorded, deleted, busy] = [0, 0, processes.length]
        const recording = processes.map(async (hits, process) => {
          try {
            for (let round = 0; round < 6; round++) {
              for (let i = 0; i < 20; i++, recorded++) hits.record(items[(process + i) % 3]!)
              await hits.flush()
              // A deadlock ends one of two transactions, and may end the commit. It comes again.
              if (process === 0) await hits.drain({ all: true }).catch(onlyLocks)
            }
          } finally {
            busy--
          }
        })
        const moving = processes.map(async (hits, process) => {
          for (let round = 0; busy > 0; round++) {
            const [from, to] = [items[round % 3]!, items[(round + 1 + (process % 2)) % 3]!]
            if (round % 6 < 5) await hits.rename(from, to)
            else await hits.delete(from).then((taken) => (deleted += taken))
            await delay(20)
          }
        })
        await Promise.all([...recording, ...moving])
        deleted += await processes[0]!.delete('a')
        await drainAll(...processes)
        const counts = [...(await processes[0]!.counts(items)).values()]
        assert(counts.every((count) => count >= 0))
        assert.equal(counts.reduce((a, b) => a + b) + deleted, recorded)
        for (const [index, item] of items.entries()) {
          const days = await processes[0]!.history(item, { days: 3 })
          assert.equal(
            days.reduce((sum, { hits }) => sum + (hits ?? 0), 0),
            counts[index],
            'the history moves with the count',
          )
        }
        const lately = { from: Date.now() - 86_400_000, to: Date.now() + 86_400_000 }
        for (const time of [{ hours: 5 }, lately]) {
          assert.deepEqual(
            new Map(await processes[0]!.top(9, time)),
            new Map(items.flatMap((item, index) => (counts[index] ? [[item, counts[index]]] : []))),
          )
        }
        assert.deepEqual(
          new Map(await processes[0]!.top(9)),
          new Map([...(await processes[0]!.counts(items))].filter(([, count]) => count > 0)),
        )
      },
    )

    hitsTest(
      'of several that rename or delete an item at once, one has its hits',
      async ({ open }) => {
        const processes = [open(), open(), open(), open()]
        await Promise.all(processes.map((hits) => hits.migrate()))
        let item = 'item'
        for (let i = 0; i < 9; i++) processes[0]!.record(item)
        await drainAll(processes[0]!)
        for (let round = 0; round < 10; round++) {
          const moved = await Promise.all(
            processes.map((hits, process) => hits.rename(item, `${round} ${process}`)),
          )
          assert.deepEqual(moved.toSorted(), [0, 0, 0, 9])
          item = `${round} ${moved.indexOf(9)}`
          assert.equal(await processes[0]!.count(item), 9)
        }
        const deleted = await Promise.all(processes.map((hits) => hits.delete(item)))
        assert.deepEqual(deleted.toSorted(), [0, 0, 0, 9])
        await processes[0]!.drain()
        assert.deepEqual(await processes[0]!.top(9), [])
      },
    )

    hitsTest(
      'two names do not know of each other; neither viewers nor user agents are in SQL',
      async ({ open, site }) => {
        const [one, other] = [open(), open({ name: newName() })]
        one.record('a', { viewer: 'anna@example.com' })
        other.record('a', { viewer: 'anna@example.com' })
        other.record('a', { viewer: 'bert@example.com' })
        await drainAll(one, other)
        assert.deepEqual(
          [await one.count('a'), await other.count('a'), (await one.top(9)).length],
          [1, 2, 1],
        )
        const { rows } = await site.database().query('SELECT viewing FROM hits_viewings')
        assert.equal(rows.length, 3)
        // Not even the same under two names.
        assert.equal(
          new Set(rows.map(({ viewing }) => String((viewing as Buffer).toString('hex')))).size,
          3,
        )
      },
    )

    hitsTest(
      'collectors count by themselves, and remove who has seen what two days after its window',
      async ({ open, site, name }) => {
        const database = site.database()
        await database.migrate()
        const [old, young] = [
          Date.now() - 2 * 86_400_000 - 1_860_000,
          Date.now() - 2 * 86_400_000 - 1_740_000,
        ]
        for (const start of [old, young]) {
          await database.query(
            'INSERT INTO hits_viewings (name, window_start, viewing, times) VALUES (?, ?, ?, 1)',
            [name, start, Buffer.alloc(16)],
          )
        }
        const hits = open({ layerSeconds: 1, drainAfterLayers: 2, collect: '* * * * * *' })
        hits.record('a', { viewer: 'anna' })
        hits.record('a', { viewer: 'anna' })
        const windows = async () => {
          const { rows } = await database.query(
            'SELECT window_start FROM hits_viewings WHERE name = ? ORDER BY window_start',
            [name],
          )
          return rows.map((row) => row['window_start'])
        }
        await eventually(
          'what is old is removed',
          async () => (await hits.top(1)).length > 0 && (await windows()).length <= 2,
        )
        assert.deepEqual(await hits.top(1), [['a', 1]])
        const [first, ...others] = await windows()
        assert.deepEqual([first, others.length], [young, 1])
      },
    )

    hitsTest(
      "with the cache down hits are committed directly, without repeats where the day's salt is " +
        'known; elsewhere all count',
      async ({ open, site, log }) => {
        let down = false
        const cache = new FaultyCache(site.cache(), () => (down ? 'down' : 'none'))
        const [known, other] = [open({ cache }), open({ cache })]
        for (const hits of [known, other]) {
          hits.record('a', { viewer: 'anna' })
          await hits.flush()
        }
        down = true
        for (const hits of [known, other, known]) {
          for (const viewer of ['anna', 'bert']) hits.record('a', { viewer })
        }
        await Promise.all([known.flush(), other.flush()])
        const late = open({ cache })
        for (let i = 0; i < 2; i++) late.record('b', { viewer: 'anna' })
        await late.flush()
        down = false
        await drainAll(known, other, late)
        assert.deepEqual(
          [...(await known.counts(['a', 'b']))],
          [
            ['a', 2],
            ['b', 2],
          ],
        )
        assert(
          log.some((line) => /count without a visitor until the day's salt is known/.test(line)),
        )
      },
    )

    hitsTest(
      'with the database down recording goes on, counts reject, and nothing is lost; with ' +
        'the cache down too',
      async ({ open, site }) => {
        let [databaseDown, cacheDown] = [false, false]
        const cache = new FaultyCache(site.cache(), () => (cacheDown ? 'down' : 'none'))
        const hits = open({
          cache,
          database: failingAnywhere(site.database(), () => databaseDown),
        })
        hits.record('a', { viewer: 'anna' })
        await drainAll(hits)
        databaseDown = true
        hits.record('a', { viewer: 'bert' })
        await hits.flush()
        for (const asked of [
          () => hits.count('a'),
          () => hits.counts(['a']),
          () => hits.top(1),
          () => hits.drain(),
        ]) {
          await assert.rejects(
            asked,
            (error) => error instanceof DatabaseError && error.category === 'unreachable',
          )
        }
        cacheDown = true
        hits.record('a', { viewer: 'cleo' })
        await assert.rejects(hits.flush(), DatabaseError)
        databaseDown = false
        await hits.flush()
        assert.equal(await hits.count('a'), 2)
        cacheDown = false
        await drainAll(hits)
        assert.equal(await hits.count('a'), 3)
      },
    )

    hitsTest('what is held at closing is counted', async ({ open }) => {
      const [closed, reader] = [open(), open()]
      closed.record('a', { viewer: 'anna' })
      closed.record('a')
      await Promise.all([closed.close(), closed.close()])
      assert.equal(await reader.count('a'), 2)
    })

    hitsTest(
      'with faults everywhere the counts end exact, whoever brings a hit to SQL, and in ' +
        'whatever order',
      async ({ open, site, log }) => {
        const random = randomFrom(20261121)
        let faulty = false
        const cache = new FaultyCache(site.cache(), (operation, key) => {
          if (!faulty || /:(?:salt|marks|marked)(?::|$)/.test(key)) return 'none'
          const chance = random()
          return chance < 0.05
            ? 'timeout'
            : chance < 0.1
              ? 'done'
              : operation === 'append' && chance < 0.13
                ? 'lost'
                : 'none'
        })
        const time = calendar()
        time.set(NOON)
        let window = 0
        const recorded: { item: string; viewer: string | null; window: number }[] = []
        const databases: FaultyDatabase[] = []
        const start = async (): Promise<ItemHits> => {
          const database = failingAnywhere(site.database(), () => faulty && random() < 0.02)
          databases.push(database)
          const before = faulty
          faulty = false
          const hits = open({ ...LONG_LAYERS, cache, database, closeTimeoutMs: 20_000 }, time)
          await hits.migrate()
          // The salt is known.
          hits.record('warm', { viewer: 'warm' })
          recorded.push({ item: 'warm', viewer: 'warm', window })
          await hits.flush()
          faulty = before
          return hits
        }
        const processes = await Promise.all([start(), start(), start()])
        faulty = true
        for (let round = 0; round < 30; round++) {
          window = Math.floor(round / 10)
          time.set(NOON + Math.floor(((round + random() * 0.5) / 10) * WINDOW_MS))
          for (let i = 0; i < 40; i++) {
            const viewer = random() < 0.2 ? null : `viewer ${Math.floor(random() * 6)}`
            const item = `item ${Math.floor(random() * 5)}`
            recorded.push({ item, viewer, window })
            processes[Math.floor(random() * processes.length)]!.record(item, { viewer })
          }
          await Promise.allSettled(processes.map((hits) => hits.flush()))
          // Collectors and direct commits compete for the same viewers.
          await Promise.allSettled(
            processes.flatMap((hits) => (random() < 0.5 ? [hits.drain({ all: true })] : [])),
          )
          if (round % 10 === 9) {
            const index = Math.floor(random() * processes.length)
            const closing = processes[index]!.close()
            processes[index] = await start()
            await closing
          }
        }
        faulty = false
        const last = await start()
        await Promise.all(processes.map((hits) => hits.close()))
        await last.drain({ all: true })
        const items = [...new Set(recorded.map(({ item }) => item))]
        const expected = [...model(recorded)].sort()
        assert.deepEqual([...(await last.counts(items))].sort(), expected)
        assert.deepEqual((await last.top(10)).sort(), expected)
        const { issued, committed, lost, dropped, quarantined } = await last.ledger()
        assert.deepEqual([committed + 1, lost, dropped, quarantined], [issued + 1, 0, 0, 0])
        assert(databases.reduce((sum, { faults }) => sum + faults, 0) > 5, 'there were faults')
        assert(!log.some((line) => /quarantine/.test(line)))
      },
    )

    // The commit and the tables, without a wide cache.

    const committing = async (site: Site, name: string, onDeadlock?: () => void) => {
      const database: Database = site.database()
      await database.migrate()
      /** As the ledger does, and again after a deadlock. */
      const commit = async (hits: readonly Hit[], now = NOON + 40 * WINDOW_MS): Promise<void> => {
        for (;;) {
          try {
            return await database.transaction((tx) =>
              commitHits(hits, tx, { name, repeatMs: WINDOW_MS, calendar: UTC, now }),
            )
          } catch (error) {
            if (!(error instanceof DatabaseError && error.category === 'lock')) throw error
            onDeadlock?.()
          }
        }
      }
      return { database, commit }
    }

    const arbitraryHits = fc.array(
      fc.record(
        {
          item: fc.constantFrom('a', 'b', 'c'),
          viewer: fc.option(fc.integer({ min: 0, max: 4 }), { freq: 4 }),
          window: fc.integer({ min: 0, max: 3 }),
          within: fc.constantFrom(0, 1, WINDOW_MS - 1),
        },
        { noNullPrototype: true },
      ),
      { maxLength: 40 },
    )

    test('counts do not depend on the order or the grouping of hits', async () => {
      const site = await pair.open()
      try {
        await fc.assert(
          fc.asyncProperty(
            arbitraryHits,
            fc.infiniteStream(fc.nat()),
            fc.integer({ min: 1, max: 12 }),
            async (hits, numbers, size) => {
              const name = newName()
              const { database, commit } = await committing(site, name)
              const shuffled = hits
                .map((hit) => ({ hit, place: numbers.next().value ?? 0 }))
                .sort((a, b) => a.place - b.place)
                .map(({ hit }) => hit)
              for (let from = 0; from < shuffled.length; from += size) {
                await commit(
                  shuffled
                    .slice(from, from + size)
                    .map(({ item, viewer, window, within }): Hit => ({
                      item,
                      viewer: viewer === null ? null : viewerOf(viewer),
                      time: NOON + window * WINDOW_MS + within,
                    })),
                )
              }
              const expected = [...model(hits)].sort()
              const counts = async () =>
                [...(await readCounts(database, name, ['a', 'b', 'c']))]
                  .filter(([, count]) => count > 0)
                  .sort()
              assert.deepEqual(await counts(), expected)
              assert.deepEqual((await readTop(database, name, 9)).sort(), expected)
            },
          ),
          { numRuns: fewOrMany(10, 25) },
        )
      } finally {
        await site.close()
      }
    })

    test('of transactions with the same viewers exactly one counts each viewer', async () => {
      const site = await pair.open()
      try {
        const name = newName()
        let deadlocks = 0
        const sides = await Promise.all(
          Array.from({ length: 4 }, () => committing(site, name, () => deadlocks++)),
        )
        // More than one statement takes, in windows of different sizes.
        const hits = Array.from({ length: 1_300 }, (_, i): Hit => ({
          item: `item ${i % 7}`,
          viewer: Buffer.from(String(i).padStart(12, '0')),
          time: NOON + (i % 3 === 0 ? i % 5 : 7) * WINDOW_MS,
        }))
        await Promise.all(
          sides.flatMap(({ commit }, side) =>
            [0, 1].map((part) =>
              commit(
                hits
                  .filter((_, i) => i % 2 === part || i % 5 === side)
                  .sort(() => Math.random() - 0.5),
              ),
            ),
          ),
        )
        const [{ database }] = sides as [(typeof sides)[0]]
        assert.equal(deadlocks, 0)
        const expected = Array.from({ length: 7 }, (_, i): [string, number] => [
          `item ${i}`,
          hits.filter(({ item }) => item === `item ${i}`).length,
        ])
        assert.deepEqual((await readTop(database, name, 9)).sort(), expected)
      } finally {
        await site.close()
      }
    })

    test("a hit's window is that of its time, or of the database's now if earlier", async () => {
      const site = await pair.open()
      try {
        const name = newName()
        const { database, commit } = await committing(site, name)
        const hit = (time: number): Hit => ({ item: 'a', viewer: viewerOf(1), time })
        const now = NOON + 5 * WINDOW_MS + 1
        for (const windows of [5, 6, 60]) await commit([hit(NOON + windows * WINDOW_MS)], now)
        assert.equal((await readCounts(database, name, ['a'])).get('a'), 1)
        await commit([hit(NOON + 5 * WINDOW_MS - 1)], now)
        assert.equal((await readCounts(database, name, ['a'])).get('a'), 2)
        const { rows } = await database.query(
          'SELECT window_start FROM hits_viewings WHERE name = ? ORDER BY window_start',
          [name],
        )
        assert.deepEqual(
          rows.map(({ window_start: start }) => start),
          [NOON + 4 * WINDOW_MS, NOON + 5 * WINDOW_MS],
        )
      } finally {
        await site.close()
      }
    })

    test('a hit whose transaction is rolled back has not been seen', async () => {
      const site = await pair.open()
      try {
        const name = newName()
        const { database, commit } = await committing(site, name)
        const hit: Hit = { item: 'a', viewer: viewerOf(1), time: NOON }
        await assert.rejects(
          database.transaction(async (tx) => {
            await commitHits([hit], tx, { name, repeatMs: WINDOW_MS, calendar: UTC, now: NOON })
            throw new Error('rolled back')
          }),
          /rolled back/,
        )
        await commit([hit])
        await commit([hit])
        assert.equal((await readCounts(database, name, ['a'])).get('a'), 1)
      } finally {
        await site.close()
      }
    })

    test('only viewings of old windows are removed; late repeats do not count', async () => {
      const site = await pair.open()
      try {
        const [name, other] = [newName(), newName()]
        const { database, commit } = await committing(site, name)
        const { commit: commitOther } = await committing(site, other)
        const hits = Array.from({ length: 12_000 }, (_, i): Hit => ({
          item: 'a',
          viewer: Buffer.from(String(i).padStart(12, '0')),
          time: NOON + (i < 300 ? i % 3 : 5) * WINDOW_MS,
        }))
        for (let from = 0; from < hits.length; from += 2_000) {
          await commit(hits.slice(from, from + 2_000))
        }
        const kept: Hit[] = [6, 7].map((window) => ({
          item: 'a',
          viewer: viewerOf(1),
          time: NOON + window * WINDOW_MS,
        }))
        await commit(kept)
        await commitOther(hits.slice(0, 2))
        const left = async (of: string) =>
          Number(
            (await database.query('SELECT COUNT(*) AS n FROM hits_viewings WHERE name = ?', [of]))
              .rows[0]?.['n'],
          )
        const query = database.query.bind(database)
        let most = 0
        database.query = async (...args) => {
          const result = await query(...args)
          most = Math.max(most, result.affectedRows)
          return result
        }
        assert.equal(await removeOldHits(database, name, NOON + 2 * WINDOW_MS), false)
        assert.equal(await left(name), 11_802)
        await removeOldHits(database, name, NOON + 6 * WINDOW_MS)
        assert.deepEqual([await left(name), await left(other), most], [2, 2, 5_000])
        const count = async () => (await readCounts(database, name, ['a'])).get('a')
        assert.equal(await count(), 12_002)
        await commit(kept)
        assert.equal(await count(), 12_002)
      } finally {
        await site.close()
      }
    })
  })
}
