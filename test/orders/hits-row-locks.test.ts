/** Hits on servers whose transactions lock rows: none that runs beside others ends another one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFrom } from '../../src/counters/pairs.fixture.js'
import { DatabaseError } from '../../src/database/database.js'
import { openDatabase } from '../../src/database/open.js'
import { beginImport, importPart } from '../../src/hits/import.js'
import { DAY_MS } from '../../src/support/clock.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../servers/shared.js'
import { EPOCH } from '../simulated-world/world.js'
import { hit, HitsActor, NAME } from './hits.js'

const ITEMS = ['a', 'b', 'c', 'd', 'e', 'f']
const ACTORS = 4
const ROUNDS = 40
const DAYS = 5

/**
 * InnoDB lets two inserts that waited for one removed row lock the gap that it leaves, each against
 * the other. On a busy machine one run in fifteen meets up to four such deadlocks. Another order of
 * locks meets more than a hundred.
 */
const RARE_DEADLOCKS = 12

/** Does work again after a deadlock, of which there may be `most`. */
function again(most: number) {
  let deadlocks = 0
  return async function counting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const isLock = error instanceof DatabaseError && error.category === 'lock'
      if (!isLock || ++deadlocks > most) throw error
      return counting(work)
    }
  }
}

for (const [server, url, most] of [
  ['MariaDB', sharedMysqlUrl, RARE_DEADLOCKS],
  ['PostgreSQL', sharedPostgresUrl, 0],
] as const) {
  test(`${server}: commits, renames and deletions of two measures meet no deadlock`, async () => {
    const random = randomFrom(58)
    const below = (n: number): number => Math.floor(random() * n)
    const anItem = (): string => ITEMS[below(ITEMS.length)]!
    const { database } = openDatabase(await url())
    await database.migrate()
    let [committed, deleted] = [0, 0]
    const counting = again(most)
    const commits = async (actor: HitsActor): Promise<void> => {
      for (let round = 0; round < ROUNDS; round++) {
        const hits = Array.from({ length: 12 }, () =>
          hit(anItem(), undefined, EPOCH - below(DAYS) * DAY_MS),
        )
        await counting(() => actor.commit(hits))
        committed += hits.length
      }
    }
    const moves = async (actor: HitsActor): Promise<void> => {
      for (let round = 0; round < ROUNDS; round++) {
        const to = below(8) === 0 ? undefined : anItem()
        const from = anItem()
        const moved = await counting(() => actor.move(from, to))
        if (to === undefined) deleted += moved
      }
    }
    const names = [NAME, `${NAME}.seen`]
    const actor = new HitsActor({ database }, names)
    const actors = Array.from({ length: ACTORS }, () => [commits(actor), moves(actor)]).flat()
    await Promise.all(actors)
    const sumOf = async (table: string, name: string): Promise<number> => {
      const { rows } = await database.query(
        `SELECT COALESCE(SUM(hits), 0) AS hits FROM ${table} WHERE name = ?`,
        [name],
      )
      return Number(rows[0]?.['hits'])
    }
    const left = committed - deleted
    for (const table of ['hits_counts', 'hits_hours', 'hits_days']) {
      for (const name of names) assert.equal(await sumOf(table, name), left, `${table} of ${name}`)
    }
    await database.close()
  })

  test(`${server}: commits and imports of the same items meet no deadlock`, async () => {
    const random = randomFrom(59)
    const some = (): string[] => ITEMS.toSorted(() => random() - 0.5)
    const { database } = openDatabase(await url())
    await database.migrate()
    const actor = new HitsActor({ database })
    const counting = again(most)
    const commits = async (): Promise<void> => {
      for (let round = 0; round < ROUNDS; round++) {
        await counting(() => actor.commit(some().map((item) => hit(item))))
      }
    }
    const imports = async (id: string): Promise<void> => {
      const list = { name: NAME, id, digest: Buffer.alloc(32) }
      await counting(() => beginImport(database, list))
      for (let round = 0; round < ROUNDS; round++) {
        const part = some().map((item) => ({ item, hits: 1 }))
        const range = { from: round, to: round + 1, isLast: false }
        await counting(() => database.transaction((tx) => importPart(tx, list, part, range)))
      }
    }
    const ids = Array.from({ length: ACTORS }, (_, at) => `list-${at}`)
    await Promise.all(ids.flatMap((id) => [commits(), imports(id)]))
    const all = 2 * ACTORS * ROUNDS
    assert.deepEqual(await actor.counts(...ITEMS), Array(ITEMS.length).fill(all))
    await database.close()
  })
}
