import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { mysql } from '../../database/mysql/mysql.js'
import { postgres } from '../../database/postgres/postgres.js'
import { sqlite } from '../../database/sqlite/sqlite.js'
import { sharedMysqlUrl, sharedPostgresUrl } from '../../../test/servers/shared.js'
import { enterName } from './name-settings.js'
import { proveWritable } from './write-proof.js'

const NOW = 1_800_000_000_000
const at = (second: number): number => NOW + second * 1_000

/** A name whose writers commit directly after 75 s. */
async function site(open = async () => sqlite(':memory:')) {
  const database = await open()
  after(() => database.close())
  await database.migrate(['wide-cache'])
  const name = `proof-${process.pid}-${Math.floor(performance.now() * 1_000)}`
  const seconds = { cellTtlSeconds: 75, directSeconds: 75, vanishedSeconds: 75 }
  const own = { kind: 'rows', ...seconds, nameSettings: {} }
  await enterName(database, { ...own, name })
  // Another measure, of the same grid.
  await enterName(database, { ...own, name: `${name}.seen` }, name)
  return {
    /** Writers commit directly at these seconds. */
    async commitAt(...those: number[]) {
      for (const second of those) await proveWritable(database, name, at(second))
    },
    /** The second before which all is proven; `undefined`: nothing ever was. */
    async provenTo() {
      const { rows } = await database.query(
        'SELECT direct_to FROM wide_cache_names WHERE grid_name = ?',
        [name],
      )
      const [directTo = 0, ofOther] = rows.map((row) => Number(row['direct_to']))
      assert.equal(directTo, ofOther, 'of all measures')
      return directTo === 0 ? undefined : (directTo - NOW) / 1_000
    },
  }
}

/** Seconds from one to another, every five. */
function every5(from: number, to: number): number[] {
  return Array.from({ length: (to - from) / 5 + 1 }, (_, i) => from + 5 * i)
}

for (const [where, open] of [
  ['SQLite', undefined],
  ['MariaDB', async () => mysql(await sharedMysqlUrl())],
  ['PostgreSQL', async () => postgres(await sharedPostgresUrl())],
] as const) {
  test(`${where}: rows are proven to be in SQL after direct commits of 75 s`, async () => {
    const { commitAt, provenTo } = await site(open)
    await commitAt(...every5(0, 70))
    assert.equal(await provenTo(), undefined)
    await commitAt(75)
    assert.equal(await provenTo(), 0)
    await commitAt(80)
    assert.equal(await provenTo(), 5)
  })
}

test('eight seconds without a direct commit, and all begins again', async () => {
  const { commitAt, provenTo } = await site()
  await commitAt(...every5(0, 100))
  assert.equal(await provenTo(), 25)
  await commitAt(108, ...every5(113, 118))
  assert.equal(await provenTo(), 43, 'a gap of eight seconds')
  await commitAt(126.001, ...every5(130, 200))
  assert.equal(await provenTo(), 43, 'what was proven before stays')
  await commitAt(201.001)
  assert.equal(await provenTo(), 126.001)
})

test('processes prove it together, though one reads the clock later', async () => {
  const { commitAt, provenTo } = await site()
  for (const second of every5(0, 80)) await commitAt(second, second - 0.04)
  assert.equal(await provenTo(), 4.96)
})

test('a step of the clock proves nothing', async () => {
  for (const step of [-3_600, 3_600]) {
    const { commitAt, provenTo } = await site()
    await commitAt(...every5(0, 40), ...every5(40 + step, 110 + step))
    assert.equal(await provenTo(), undefined)
    await commitAt(115 + step)
    assert.equal(await provenTo(), 40 + step)
  }
})
