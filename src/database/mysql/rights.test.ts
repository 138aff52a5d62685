import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { createActivity } from '../../activity/site-activity.js'
import { keptLog } from '../../support/kept-log.fixture.js'
import { mysql } from './mysql.js'
import { sharedMysqlUrl } from '../../../test/servers/shared.js'

const NEEDED = 'SELECT, INSERT, UPDATE, DELETE'

/** URLs of one schema for users with the rights given. */
async function usersOf(...rights: string[]): Promise<string[]> {
  const url = new URL(await sharedMysqlUrl())
  const administrator = await createConnection(url.href)
  try {
    const urls: string[] = []
    for (const right of rights) {
      const user = `u${randomBytes(5).toString('hex')}`
      await administrator.query(`CREATE USER '${user}'@'%' IDENTIFIED BY '${user}'`)
      await administrator.query(`GRANT ${right} ON \`${url.pathname.slice(1)}\`.* TO '${user}'@'%'`)
      const own = new URL(url)
      own.username = own.password = user
      urls.push(own.href)
    }
    return urls
  } finally {
    await administrator.end()
  }
}

test('the error of a locked user has its name', async () => {
  const [user] = await usersOf(NEEDED)
  const { username } = new URL(user!)
  const administrator = await createConnection(await sharedMysqlUrl())
  await administrator.query(`ALTER USER '${username}'@'%' ACCOUNT LOCK`)
  await administrator.end()
  const database = mysql(user!)
  await assert.rejects(database.query('SELECT 1'), {
    code: 'ER_ACCOUNT_HAS_BEEN_LOCKED',
    category: 'usage',
  })
  await database.close()
})

test('processes need four rights, migrate() also CREATE, and the error says so', async () => {
  const [process, migrator] = await usersOf(NEEDED, `${NEEDED}, CREATE`)
  const open = (database: string) =>
    createActivity({ cache: 'memory:', database, collect: false, logger: keptLog() })
  const [activity, deployment] = [open(process!), open(migrator!)]
  await assert.rejects(
    activity.migrate(),
    /CREATE command denied .*need SELECT, INSERT, UPDATE and DELETE .*, also CREATE/,
  )
  await deployment.migrate()
  activity.record({ page: '/' })
  await activity.flush()
  await activity.drain({ all: true })
  const { committed } = await activity.ledger()
  assert.equal(committed, 1)
  await Promise.all([activity.close(), deployment.close()])
})
