// The ceiling: the text of rows that are in memory already goes to `activities` by LOAD DATA LOCAL,
// forty thousand to a transaction as the collector's, and nothing else.
import { Readable } from 'node:stream'
import mysql from 'mysql2/promise'
import { ROWS_A_TRANSACTION } from './bulk-insert.js'
import { partsOf } from './pool.js'

const ROWS_A_CHUNK = 1_000

export async function open({ mysqlUrl, name }) {
  const connection = await mysql.createConnection(mysqlUrl)
  let number = 0
  const lineOf = ({ time, visitor, page }) =>
    `${name}\t${time}\t${++number}\t${visitor.toString('hex')}\t${page}\n`
  function* chunksOf(visits) {
    for (const part of partsOf(visits, ROWS_A_CHUNK)) yield Buffer.from(part.map(lineOf).join(''))
  }
  return {
    reads: 'visits',
    async bring(visits) {
      for (const some of partsOf(visits, ROWS_A_TRANSACTION)) {
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
