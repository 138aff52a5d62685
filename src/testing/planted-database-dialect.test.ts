import { setTimeout as delay } from 'node:timers/promises'
import type { Transaction } from '../database/database.js'
import {
  binding,
  type DatabaseFault,
  everywhere,
  testPlantedSqlite,
} from './planted-databases.fixture.js'

const UPSERT = 'upsert makes of each column what its table says'
const NUMBERS = 'rows get numbers by id, up to the greatest id; no other row changes'
const BOTH = 'two rows are updated together or not at all, with one statement if so'
const NUL = 'text that is no UTF-8 is replaced; NUL does not cut it'
const MATCHED = 'says how many rows a change has matched'
const ERRORS = 'errors have a category, and show no value'
const CONFLICT = / ON CONFLICT[^]*$/

/** Stores rows otherwise where some of the keys are there. */
const storing = (how: string): DatabaseFault => [
  UPSERT,
  everywhere(
    (query) => (sql, values) =>
      query(CONFLICT.test(sql) ? sql.replace(CONFLICT, '').replace('INSERT', how) : sql, values),
  ),
]

/** Every second statement begins late. */
const slow = (sentence: string, first: number): DatabaseFault => {
  let asked = first
  return [
    sentence,
    everywhere((query) => async (...given) => {
      if (asked++ % 2 === 0) await delay(20)
      return query(...given)
    }),
  ]
}

testPlantedSqlite(
  {
    'upsert: replaces the row': storing('INSERT OR REPLACE'),
    'upsert: keeps the row': storing('INSERT OR IGNORE'),
    'numbers: those beyond 2^32 are cut': [
      NUMBERS,
      everywhere(
        binding((v) =>
          typeof v === 'string' ? v.replace(/\d{11,}/g, (n) => String(Number(n) % 2 ** 32)) : v,
        ),
      ),
    ],
    'transaction: each statement commits by itself': [
      BOTH,
      (database) => ({ transaction: (work) => work(database as unknown as Transaction) }),
    ],
  },
  Object.fromEntries(
    [UPSERT, NUMBERS, BOTH, NUL, MATCHED, ERRORS].flatMap((sentence) =>
      [0, 1].map((first) => [
        `statement ${first} and others are slow: ${sentence}`,
        slow(sentence, first),
      ]),
    ),
  ),
)
