import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PreparedDatabase } from '../connections/prepared-database.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { systemEnvironment } from '../support/environment.js'
import { wrapped } from '../../test/servers/wrapped.js'
import { GenerationRecord } from './generation-record.js'

test('a row is made by the first who reads it, and then read by one statement', async () => {
  const database = sqlite(':memory:')
  await database.migrate(['sequence'])
  let asked = 0
  const counting = wrapped(database, {
    query: (...statement) => (asked++, database.query(...statement)),
  })
  const prepared = new PreparedDatabase(counting, ['sequence'], systemEnvironment)
  const record = new GenerationRecord(prepared, 'orders', 100, 1)
  const first = await record.read()
  assert.deepEqual(first, { generation: 0, token: null, base: 0, reserved: 0, established: true })
  asked = 0
  assert.deepEqual(await record.read(), first)
  assert.equal(asked, 1)
  await database.close()
})

test('a process that is overtaken in making the row reads what it has become', async () => {
  const database = sqlite(':memory:')
  await database.migrate(['sequence'])
  const other = new PreparedDatabase(database, ['sequence'], systemEnvironment)
  let isOvertaken = false
  const overtaken = wrapped(database, {
    async query(...statement) {
      const answer = await database.query(...statement)
      if (isOvertaken) return answer
      isOvertaken = true
      const record = new GenerationRecord(other, 'orders', 100, 1)
      await record.read()
      await record.take(0, 5)
      await record.open(0, null)
      return answer
    },
  })
  const prepared = new PreparedDatabase(overtaken, ['sequence'], systemEnvironment)
  const { generation, reserved } = await new GenerationRecord(prepared, 'orders', 100, 1).read()
  assert.deepEqual({ generation, reserved }, { generation: 1, reserved: 5 })
  await database.close()
})
