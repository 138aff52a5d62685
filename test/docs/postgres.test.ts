/**
 * The commands for PostgreSQL in docs/servers.md and docs/backup.md, run as printed: rights,
 * autovacuum, backup and restore. Needs `npm run build` before.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createActivity } from '../../src/activity/site-activity.js'
import { postgres } from '../../src/database/postgres/postgres.js'
import { refusedRights } from '../../src/database/rights.js'
import { memory } from '../../src/cache/memory.js'
import { SILENT } from '../../src/support/logger.js'
import { postgresProgram } from '../servers/postgres.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { sharedPostgresUrl } from '../servers/shared.js'
import { blocksIn } from './blocks.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGES = ['docs/servers.md', 'docs/backup.md']
const PASSWORD = 'role-password'

const blocks = PAGES.flatMap((page) => blocksIn(page, readFileSync(join(ROOT, page), 'utf8')))
  .filter(({ language, text }) => language === 'sh' && /^(?:psql|pg_\w+) /m.test(text))
  .map(({ text }) =>
    text
      .trim()
      .replaceAll(/ \\\n */g, ' ')
      .split('\n'),
  )

const superuser = new URL(await sharedPostgresUrl())
const database = superuser.pathname.slice(1)
// Roles belong to the server, which others use.
const suffix = `_${randomUUID().slice(0, 8)}`
const roles = ['admin', 'wide_cache'].map((role) => role + suffix) as [string, string]
const folder = temporaryFolder('printed')
after(() => removeFolder(folder))

function urlOf(role: string): string {
  const url = new URL(superuser)
  url.username = role
  url.password = PASSWORD
  return url.href
}

/** Runs a line of the page against the server of this test. */
async function runs(line: string): Promise<void> {
  const here = line
    .replace('npx wide-cache', `node ${join(ROOT, 'dist/cli/main.js')}`)
    .replace(/postgres:\/\/admin:\S+/, urlOf(roles[0]))
    .replace('--host=10.0.0.7', `--host=${superuser.hostname} --port=${superuser.port}`)
    .replace('--username=postgres', `--username=${superuser.username}`)
    .replace('--username=admin', `--username=${roles[0]}`)
    .replace('--dbname=site', `--dbname=${database}`)
    .replace(/ site$/, ` ${database}`)
    .replaceAll(/\b(AUTHORIZATION|ROLE) admin\b/g, `$1 ${roles[0]}`)
    .replaceAll('DATABASE site', `DATABASE ${database}`)
    .replaceAll("PASSWORD 'password'", `PASSWORD '${PASSWORD}'`)
    .replaceAll(/\bwide_cache\b/g, roles[1])
  const programs = dirname(postgresProgram('postgres'))
  const isSuperuser = line.includes('--username=postgres')
  await promisify(execFile)('sh', ['-c', here.replace(/^psql /, 'psql -v ON_ERROR_STOP=1 ')], {
    cwd: folder,
    env: {
      PATH: `${programs}:${process.env['PATH']}`,
      PGPASSWORD: isSuperuser ? superuser.password : PASSWORD,
    },
  })
}

test('the roles have what they need, a backup comes back, and settings are taken', async () => {
  const root = postgres(superuser.href)
  const [rights, autovacuum, backup, restore, ...more] = blocks
  assert.deepEqual(more, [])
  for (const line of [...rights!, ...autovacuum!]) await runs(line)

  const site = postgres(urlOf(roles[1]))
  const { rows } = await root.query('SELECT tablename FROM pg_tables WHERE schemaname = ?', [
    roles[1],
  ])
  const tables = rows.map(({ tablename }) => String(tablename))
  assert(tables.length > 30, tables.join(' '))
  assert.deepEqual(await refusedRights(site, tables), [])
  await site.migrate()

  const record = async (visits: number): Promise<number> => {
    const cache = memory()
    const activity = createActivity({ cache, database: site, collect: false, logger: SILENT })
    for (let visit = 0; visit < visits; visit++) {
      activity.record({ visitor: `visitor ${visit}`, page: '/' })
    }
    await activity.close()
    await cache.close()
    const [row] = (await root.query(`SELECT COUNT(*) AS n FROM ${roles[1]}.activities`)).rows
    return Number(row?.['n'])
  }
  assert.equal(await record(7), 7)
  for (const line of backup!) await runs(line)
  assert.equal(await record(5), 12)
  for (const line of restore!) await runs(line)
  assert.equal(await record(2), 9)
  const options = await root.query(
    "SELECT relname FROM pg_class WHERE 'autovacuum_vacuum_scale_factor=0.02' = ANY (reloptions)",
  )
  assert.equal(options.rows.length, autovacuum!.join().match(/ALTER TABLE/g)!.length)

  await site.close()
  for (const role of roles.toReversed()) {
    await root.query(`DROP OWNED BY ${role}`)
    await root.query(`DROP ROLE ${role}`)
  }
  await root.close()
})
