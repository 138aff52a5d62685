/** What messages say of a statement that is refused before it is sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkedValues } from './statement-values.js'
import { refuseWhatEnds } from './transaction-statements.js'

test('a wrong value is named by its place, and what is allowed', () => {
  assert.throws(() => checkedValues('SELECT ?', [NaN]), {
    name: 'TypeError',
    message: /^Value 1 of the statement is a number that is not finite; allowed: string, finite /,
  })
  assert.throws(() => checkedValues(`SELECT ?, '?' -- ?\n, ? /* ? */`, [1]), {
    name: 'TypeError',
    message: 'The statement has 2 placeholders and got 1 values',
  })
})

test('a statement that would end its transaction is named by its first word', () => {
  assert.throws(() => refuseWhatEnds('-- now\n COMMIT'), {
    code: 'DATABASE_STATEMENT_REFUSED',
    message: /^A statement that begins with COMMIT would end the transaction.*allowed: SELECT/,
  })
})
