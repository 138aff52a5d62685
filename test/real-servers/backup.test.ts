/**
 * Backup and restore as docs/backup.md prints them, with the programs of the database, while a
 * site records. Run by `npm run test:all`, and by name.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createActivity } from '../../src/activity/site-activity.js'
import { mysql } from '../../src/database/mysql/mysql.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { blocksIn } from '../docs/blocks.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { onMariadb } from '../servers/mariadb.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { uniqueName } from './recorded.js'

/** Longer than a writer waits before it asks how far its frames are settled. */
const CONFIRMED_MS = 12_000
const FILE = 'docs/backup.md'

/** The commands of the page for servers of this test: those of MariaDB or those of MySQL. */
function commandsFor(url: URL, user: string): string[] {
  const ofProduct = onMariadb() ? /^mariadb\b/ : /^mysql/
  return blocksIn(FILE, readFileSync(new URL(`../../${FILE}`, import.meta.url), 'utf8'))
    .filter(({ language, text }) => language === 'sh' && ofProduct.test(text))
    .flatMap(({ text }) => text.split('\n'))
    .map((line) =>
      line
        .replaceAll('--host=10.0.0.7', `--host=${url.hostname} --port=${url.port}`)
        .replaceAll('--user=root', `--user=${url.username}`)
        .replace(/ site (?=[<>])/, ` ${url.pathname.slice(1)} `)
        .replaceAll('wide_cache', user),
    )
}

test('a backup made while a site records, and restored as printed, adds up', async (t) => {
  const admin = new URL(await sharedMysqlUrl())
  const database = mysql(admin.href)
  const user = uniqueName().replaceAll(/\W/g, '').slice(0, 30)
  const [dump = '', lock = '', end = '', restore = '', unlock = '', ...more] = commandsFor(
    admin,
    user,
  )
  assert.deepEqual(more, [])
  for (const statement of [
    `CREATE USER '${user}'@'%' IDENTIFIED BY 'site-password'`,
    `GRANT ALL ON \`${admin.pathname.slice(1)}\`.* TO '${user}'@'%'`,
  ]) {
    await database.query(statement)
  }
  const folder = temporaryFolder('backup')
  const shell = (command: string) =>
    promisify(execFile)('sh', ['-c', command], {
      cwd: folder,
      env: { PATH: process.env['PATH'], MYSQL_PWD: admin.password },
    })
  const own = new URL(admin)
  own.username = user
  own.password = 'site-password'
  const options = {
    cache: await sharedMemcached(),
    database: own.href,
    layerSeconds: 1,
    drainAfterLayers: 2,
    confirmSeconds: 30,
    logger: keptLog(),
  }
  const site = createActivity({ ...options, collect: false })
  const collecting = () => createActivity({ ...options, collect: '* * * * * *' })
  let collector = collecting()
  t.after(async () => {
    await Promise.all([site.close(), collector.close()])
    await database.query(`DROP USER '${user}'@'%'`)
    await database.close()
    removeFolder(folder)
  })
  let recorded = 0
  const record = async (milliseconds: number): Promise<void> => {
    for (const end = performance.now() + milliseconds; performance.now() < end;) {
      for (let i = 0; i < 50; i++) site.record({ page: `/${recorded++}` })
      await delay(50)
    }
  }
  const count = async (sql: string): Promise<number> =>
    Number((await database.query(sql)).rows[0]?.['n'])
  const inSql = () => count('SELECT COUNT(*) AS n FROM activities')
  const allCommitted = (missing: number) =>
    eventually('all is in SQL', async () => (await inSql()) === recorded - missing)

  await collector.drain()
  const recording = record(6_000)
  await delay(4_000)
  await shell(dump)
  await recording
  await allCommitted(0)
  await delay(CONFIRMED_MS)
  const before = recorded

  await collector.close()
  await shell(lock)
  await shell(end)
  await assert.rejects(mysql(own.href).query('SELECT 1'), /lock/i)
  // Held by the site while it is kept out.
  await record(500)
  await shell(restore)
  const restored = await inSql()
  assert(restored > 0 && restored < before, `${restored} of ${before}: it was made in between`)
  await shell(unlock)
  collector = collecting()
  await allCommitted(before - restored)
  const ledger = await collector.ledger()
  assert.deepEqual(
    [ledger.issued, ledger.committed, ledger.outstanding],
    [recorded, recorded - before + restored, before - restored],
  )
  assert.equal(await count('SELECT SUM(views) AS n FROM activity_hours'), ledger.committed)
  assert.equal(await count('SELECT SUM(views) AS n FROM activity_seconds'), ledger.committed)
})
