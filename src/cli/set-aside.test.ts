import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { DatabaseError } from '../database/database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { SetAside } from './set-aside.js'

const database = sqlite(':memory:')
after(() => database.close())

/** Frames 1 to 4. The first is locked at first, the second is gone meanwhile, the fourth breaks. */
class Frames extends SetAside<number, number, 'drop'> {
  protected readonly names = 'SELECT 1 AS name'
  protected readonly columns = { ID: 'id' }
  protected readonly texts = {
    nothing: 'nothing',
    listed: String,
    missing: String,
    whyMissing: () => 'it is missing',
    stays: (id: number) => `${id} stays`,
    done: (done: number, rows: number) => `${done} with ${rows} rows`,
  }
  /** How many there are to be listed. */
  there = 3
  #isLocked = true

  protected first = async (limit: number) => [
    Array.from({ length: Math.min(this.there, limit) }, (_, at) => at + 1),
  ]
  protected one = async (id: number) => id
  protected listed = (id: number) => ({ id })
  protected shown = async () => [{}, ''] as const
  protected amounts = (done: number, rows: number) => ({ done, rows })

  protected async act(id: number) {
    if (id === 1 && this.#isLocked) {
      this.#isLocked = false
      throw new DatabaseError('ER_LOCK', 'lock', 'locked')
    }
    if (id === 4) throw new Error('away')
    return id === 2 ? undefined : 10 * id
  }
}

test('what is locked is tried again, and what is gone meanwhile is missing', async () => {
  const frames = () => {
    const log = keptLog()
    return { log, frames: new Frames({ database, name: undefined, json: false, log, print() {} }) }
  }
  const all = frames()
  assert.equal(await all.frames.run({ verb: 'drop', ids: 'all' }), 0)
  assert.deepEqual(all.log.lines, ['wide-cache: dropped 2 with 40 rows'])
  const some = frames()
  assert.equal(await some.frames.run({ verb: 'drop', ids: [1, 2] }), 1)
  assert.deepEqual(some.log.lines, [
    'wide-cache: dropped 1 with 10 rows',
    'wide-cache: 2 stays: it is missing',
  ])
  const broken = frames()
  await assert.rejects(broken.frames.run({ verb: 'drop', ids: [3, 4, 1] }), /^Error: away$/)
  assert.deepEqual(broken.log.lines, ['wide-cache: dropped 1 with 30 rows'])
})

test('a thousand are listed, and more are told of only where there are more', async () => {
  for (const [there, listed, told] of [
    [1_000, 1_000, []],
    [1_001, 1_000, ['wide-cache: 1000; there are more']],
  ] as const) {
    const log = keptLog()
    let printed = ''
    const print = (text: string) => (printed += text)
    const frames = new Frames({ database, name: undefined, json: true, log, print })
    frames.there = there
    assert.equal(await frames.run({ verb: 'list' }), 0)
    assert.equal((JSON.parse(printed) as unknown[]).length, listed)
    assert.deepEqual(log.lines, told)
  }
})
