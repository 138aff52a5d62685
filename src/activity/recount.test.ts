import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database, SqlValue } from '../database/database.js'
import { BurstLogger, SILENT } from '../support/logger.js'
import { Recounts } from './recount.js'

const NOW = Date.UTC(2026, 0, 2, 12)

test('layers that were found equal are entered with the next ones if SQL fails', async () => {
  let fails = false
  const entered: (readonly SqlValue[])[] = []
  const database = {
    dialect: 'sqlite',
    maxStatementBytes: Infinity,
    async query(sql: string, values: readonly SqlValue[]) {
      if (sql.startsWith('SELECT')) {
        const layers = sql.split('UNION ALL').length
        const rows = Array.from({ length: layers }, (_, i) => ({
          first_second: values[(i * values.length) / layers],
          found: 1,
          views: 1,
        }))
        return { rows, affectedRows: 0 }
      }
      if (fails) throw new Error('fails')
      entered.push(values)
      return { rows: [], affectedRows: 1 }
    },
  } as unknown as Database
  const recounts = new Recounts({
    name: 'site',
    layerSeconds: 3,
    random: () => 0,
    logger: new BurstLogger(SILENT, () => 0),
  })
  for (let run = 1; run <= 5; run++) await recounts.run(database, NOW)
  assert.deepEqual(entered, [])
  fails = true
  await assert.rejects(recounts.run(database, NOW), { message: 'fails' })
  fails = false
  await recounts.run(database, NOW)
  const layers = entered.flat().filter((_, i) => i % 3 === 2)
  assert.equal(
    layers.reduce((sum: number, n) => sum + Number(n), 0),
    7 * 4,
  )
  // None is entered twice.
  entered.length = 0
  for (let run = 1; run <= 6; run++) await recounts.run(database, NOW)
  const later = entered.flat().filter((_, i) => i % 3 === 2)
  assert.equal(
    later.reduce((sum: number, n) => sum + Number(n), 0),
    6 * 4,
  )
})
