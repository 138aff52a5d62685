import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Database } from '../database/database.js'
import { mysql } from '../database/mysql/mysql.js'
import { sqlite } from '../database/sqlite/sqlite.js'
import { OwnTransactions } from './own-transactions.js'

const opened: Database[] = []
after(() => Promise.all(opened.map((one) => one.close())))

function database(): Database {
  const one = sqlite(':memory:')
  opened.push(one)
  return one
}

const check = (transactions: OwnTransactions, of: Database) =>
  of.transaction(async (tx) => transactions.check(tx))
const ANOTHER = /option "tx" is a transaction of another database than that of the map "stock"/

test('two databases without tables are not known to be one once they have some', async () => {
  const [own, other] = [database(), database()]
  const transactions = new OwnTransactions(own, 'map "stock"')
  await assert.rejects(check(transactions, other), /no such table/)
  await own.migrate()
  await assert.rejects(check(transactions, other), ANOTHER)
  await other.migrate()
  await assert.rejects(check(transactions, other), ANOTHER)
  await check(transactions, own)
})

test('a database that does not answer is not taken for another one', async () => {
  const [own, other] = [mysql('mysql://127.0.0.1:1/test'), database()]
  opened.push(own)
  const transactions = new OwnTransactions(own, 'map "stock"')
  await other.migrate()
  await assert.rejects(check(transactions, other), { category: 'unreachable' })
})
