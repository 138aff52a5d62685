// The same collector without the ledger: the statements on the tables of the ledger are not sent. A
// frame that comes twice would be there twice.
import { mysql } from 'wide-cache'
import { open as openCollector } from './collector.js'

const READS = 'SELECT w.writer, prefix, '
const LEDGER = new RegExp(
  `^(?:${READS}|(?:INSERT INTO|DELETE FROM) wide_cache_(?:writers|ranges) )`,
)
/** A writer of which nothing is known yet. */
const FRESH = {
  prefix: -1,
  committed: 0,
  quarantined: 0,
  dropped: 0,
  lost: 0,
  floor: 0,
  floor_issued: 0,
  aging_floor: 0,
  aging_issued: 0,
  aging_since: 0,
  gone: 0,
  gone_at: 0,
  safe_at: 0,
  first_sequence: null,
}

export function open({ mysqlUrl, ...options }) {
  const database = mysql(mysqlUrl)
  const transaction = (work) =>
    database.transaction((tx) => work(overridden(tx, { query: withoutLedger(tx) })))
  return openCollector({ ...options, database: overridden(database, { transaction }) })
}

function withoutLedger(tx) {
  return async (sql, parameters) => {
    if (!LEDGER.test(sql)) return tx.query(sql, parameters)
    // The only rows that a commit needs are those of its writers.
    const [, ...writers] = sql.startsWith(READS) ? parameters : []
    return { rows: writers.map((writer) => ({ writer, ...FRESH })), affectedRows: 0 }
  }
}

/** `target` with some methods of its own. */
function overridden(target, methods) {
  return new Proxy(target, {
    get(_, name) {
      const value = methods[name] ?? target[name]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
