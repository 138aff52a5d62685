import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { DatabaseError } from '../database.js'
import { mysql } from './mysql.js'
import { onMariadb } from '../../../test/servers/mariadb.js'
import { sharedMysqlUrl } from '../../../test/servers/shared.js'

/** MySQL's error of an idle connection. MariaDB has the number for a trigger's definition alone. */
const OF_MYSQL = 4031
const signal = (number: number) => `SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = ${number}`

/** Numbers with the names that MariaDB's own program has for them. */
function namesOfMariadb(from: number, to: number): Map<number, string> {
  const numbers = Array.from({ length: to - from }, (_, i) => String(from + i))
  const text = execFileSync('perror', numbers, { encoding: 'utf8' })
  const found = text.matchAll(/^MariaDB error code (\d+) \((\w+)\)/gm)
  return new Map(Array.from(found, ([, number, name]) => [Number(number), name!]))
}

test("MariaDB's errors of the 4000s never have the names of MySQL's", async (t) => {
  if (!onMariadb()) return t.skip('on MySQL')
  const names = namesOfMariadb(4000, 4190)
  names.delete(OF_MYSQL)
  assert(names.size > 150)
  const database = mysql(await sharedMysqlUrl())
  const named: string[] = []
  try {
    for (const [number, name] of names) {
      const refused = database.query(signal(number))
      await assert.rejects(refused, (error) => {
        assert(error instanceof DatabaseError)
        if (error.code === name) named.push(name)
        else assert.equal(error.code, `ER_${number}`)
        return true
      })
    }
  } finally {
    await database.close()
  }
  assert.deepEqual(named, [
    'ER_CONSTRAINT_FAILED',
    'ER_USER_IS_BLOCKED',
    'ER_ACCOUNT_HAS_BEEN_LOCKED',
  ])
})

test("MySQL's error of an idle connection has its name", async () => {
  const database = mysql(await sharedMysqlUrl())
  await assert.rejects(database.query(signal(OF_MYSQL)), {
    code: 'ER_CLIENT_INTERACTION_TIMEOUT',
    category: 'unreachable',
  })
  await database.close()
})
