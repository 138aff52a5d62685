import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { DatabaseError } from '../database.js'
import { mysqlError } from './errors.js'
import { mysql } from './mysql.js'
import { SAID } from './said.js'
import { onMariadb } from '../../../test/servers/mariadb.js'
import { sharedMysqlUrl } from '../../../test/servers/shared.js'

/** The names of errors by their numbers, as the driver has them. */
const SERVER_ERRORS = createRequire(import.meta.url)(
  '../../../node_modules/mysql2/lib/constants/errors.js',
) as { readonly [number: number]: string }

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

test('each row, said by the server, has its category, its name and its remedy', async () => {
  const numbers = new Map(Object.entries(SERVER_ERRORS).map(([number, name]) => [name, number]))
  numbers.set('ER_USER_IS_BLOCKED', '4150')
  numbers.set('ER_CONSTRAINT_FAILED', '4025')
  const database = mysql(await sharedMysqlUrl())
  let said = 0
  for (const { codes, category, remedy } of SAID) {
    for (const code of codes) {
      const number = numbers.get(code) ?? /^ER_(\d+)$/.exec(code)?.[1]
      if (number === undefined) continue
      const error: unknown = await database.query(signal(Number(number))).catch((one) => one)
      assert(error instanceof DatabaseError)
      assert.deepEqual([error.code, error.category], [code, category])
      // Who holds a lock follows.
      assert(error.message.includes(`. ${remedy.replace('%', '…')}`), error.message)
      said++
    }
  }
  assert(said > 80, `${said}`)
  for (const unknown of [3955, 1862]) {
    await assert.rejects(database.query(signal(unknown)), { category: 'usage' }, `${unknown}`)
  }
  await database.close()
})

test('names of limits, hooks and columns are shown, and said once', async () => {
  const message = (errno: number, code: string, sqlMessage: string) =>
    mysqlError(Object.assign(new Error(), { code, errno, sqlState: 'HY000', sqlMessage })).message
  for (const [errno, code, text, shown] of [
    [
      1226,
      'ER_USER_LIMIT_REACHED',
      "User 'site' has exceeded the 'max_questions' resource",
      /'max_q/,
    ],
    [3100, 'ER_RUN_HOOK_ERROR', "Error on observer of hook 'before_commit'.", /'before_commit'/],
    [
      1265,
      'WARN_DATA_TRUNCATED',
      "Data truncated for column 'n' at row 1",
      /truncated for column 'n' at row 1\./,
    ],
    [
      1366,
      'ER_X',
      "Incorrect integer value: 's3cret' for column 'n' at row 1",
      /: '…' for column 'n' at row 1$/,
    ],
  ] as const) {
    const got = message(errno, code, text)
    assert.match(got, shown)
    assert.doesNotMatch(got, /s3cret|for column.*for column/)
  }
})
