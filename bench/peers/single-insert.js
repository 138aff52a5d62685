// One INSERT after the other, each its own transaction, by a prepared statement on one connection.
import mysql from 'mysql2/promise'

export async function open({ mysqlUrl, name }) {
  const connection = await mysql.createConnection(mysqlUrl)
  let number = 0
  return {
    reads: 'visits',
    async bring(visits) {
      for (const { time, visitor, page } of visits) {
        await connection.execute(
          'INSERT INTO activities (name, created_at, number, visitor, page) VALUES (?, ?, ?, ?, ?)',
          [name, time, ++number, visitor, page],
        )
      }
    },
    close: () => connection.end(),
  }
}
