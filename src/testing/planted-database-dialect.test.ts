import type { Transaction } from '../database/database.js'
import { lateCalls } from './planted.fixture.js'
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
const HOOKS = 'work before the commit runs last, in order, and its failure rolls back'
const COMMITS = 'a transaction commits all and returns what its work returns'
const ROLLS_BACK = 'work that rejects rolls all back and passes its error'
const CAUGHT = 'a failed statement rolls back its transaction, even if it is caught'
const TAKES = 'a transaction takes each statement on rows, whatever its comments'
const UNSEEN = 'nobody sees what is not committed'
const PARTS = 'only the tables that are asked for are made'
const FOREIGN = 'a foreign table with one of our names is refused; nothing is written'
const NEWER = 'tables that a newer version has made are refused'
/** Their statements come one after the other. */
const IN_ORDER = [
  UPSERT,
  NUMBERS,
  BOTH,
  NUL,
  MATCHED,
  ERRORS,
  HOOKS,
  COMMITS,
  ROLLS_BACK,
  CAUGHT,
  TAKES,
  UNSEEN,
  PARTS,
  FOREIGN,
  NEWER,
]
const CONFLICT = / ON CONFLICT[^]*$/

/** Stores rows otherwise where some of the keys are there, in statements with `text`. */
const storing = (how: string, text = ''): DatabaseFault => [
  UPSERT,
  everywhere((query) => (sql, values) => {
    const isUpsert = CONFLICT.test(sql) && sql.includes(text)
    return query(isUpsert ? sql.replace(CONFLICT, '').replace('INSERT', how) : sql, values)
  }),
]

testPlantedSqlite(
  {
    'upsert: replaces the row': storing('INSERT OR REPLACE'),
    'upsert: keeps the row': storing('INSERT OR IGNORE'),
    'upsert: replaces a row that is to stay': storing('INSERT OR REPLACE', '(a, b, most)'),
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
  lateCalls(IN_ORDER, 250, (late) =>
    everywhere(
      (query) =>
        (...given) =>
          late(() => query(...given)),
    ),
  ),
)
