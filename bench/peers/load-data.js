// The ceiling: the text of rows that are in memory already goes to `activities` by LOAD DATA LOCAL,
// forty thousand to a transaction as the collector's, and nothing else.
import { Readable } from 'node:stream'
import mysql from 'mysql2/promise'

const ROWS_A_TRANSACTION = 40_000
const ROWS_A_CHUNK = 1_000

export async function open({ mysqlUrl, name }) {
  const connection = await mysql.createConnection(mysqlUrl)
  let number = 0
  const lineOf = ({ time, visitor, page }) =>
    `${name}\t${time}\t${++number}\t${visitor.toString('hex')}\t${page}\n`
  function* chunksOf(visits) {
    for (let from = 0; from < visits.length; from += ROWS_A_CHUNK) {
      yield Buffer.from(
        visits
          .slice(from, from + ROWS_A_CHUNK)
          .map(lineOf)
          .join(''),
      )
    }
  }
  return {
    reads: 'visits',
    async bring(visits) {
      for (let at = 0; at < visits.length; at += ROWS_A_TRANSACTION) {
        const some = visits.slice(at, at + ROWS_A_TRANSACTION)
        await connection.query({
          sql:
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE activities CHARACTER SET utf8mb4 " +
            '(name, created_at, number, @visitor, page) SET visitor = UNHEX(@visitor)',
          infileStreamFactory: () => Readable.from(chunksOf(some), { objectMode: false }),
        })
      }
    },
    close: () => connection.end(),
  }
}
