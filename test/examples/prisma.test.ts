/**
 * `createHits()` beside Prisma, as docs/postgresql.md prints it, on PostgreSQL: items from Prisma's
 * tables, views from those of wide-cache, in a schema that Prisma does not look at. The table of
 * the recipes is created as a migration of Prisma would: its schema engine is a program that is
 * downloaded apart, and is not needed for the rest. In `npm run test:all` alone, because it
 * installs Prisma.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { BROWSER } from '../../src/support/http.fixture.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { ALL } from '../scale.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { sharedPostgresUrl } from '../servers/shared.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PACKAGES = ['prisma@7', '@prisma/client@7', '@prisma/adapter-pg@7', 'express@5', 'pg@8']
const FILES = {
  'package.json': '{ "type": "module" }',
  'prisma.config.js': "export default { schema: 'schema.prisma' }",
  'schema.prisma': `
    generator client {
      provider = "prisma-client-js"
    }
    datasource db {
      provider = "postgresql"
    }
    model Recipe {
      id    Int    @id @default(autoincrement())
      title String
    }
  `,
}
const RECIPES = `
  CREATE TABLE "Recipe" ("id" SERIAL PRIMARY KEY, "title" TEXT NOT NULL);
  INSERT INTO "Recipe" ("title") VALUES ('Bread'), ('Soup'), ('Cake');
`

/** The block of the docs. */
function serverOfDocs(): string {
  const docs = readFileSync(join(ROOT, 'docs/postgresql.md'), 'utf8')
  return /## Prisma[^]*?```text\n([^]*?)```/.exec(docs)![1]!
}

async function built(): Promise<string> {
  const folder = temporaryFolder('prisma')
  for (const [file, text] of Object.entries({ ...FILES, 'server.js': serverOfDocs() })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  const run = (command: string, args: readonly string[]) =>
    promisify(execFile)(command, args, {
      cwd: folder,
      env: { ...process.env, NODE_OPTIONS: '', PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true' },
    })
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...PACKAGES])
  symlinkSync(ROOT, join(folder, 'node_modules/wide-cache'))
  await run('npx', ['prisma', 'generate'])
  return folder
}

test('Prisma: the most viewed recipes are listed by their titles', { skip: !ALL }, async () => {
  const [folder, url] = await Promise.all([built(), sharedPostgresUrl()])
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const role = `hits_${process.pid}`
  const { rows: databases } = await client.query('SELECT current_database() AS name')
  await client.query(`${RECIPES}
    CREATE ROLE ${role} LOGIN PASSWORD 'secret';
    CREATE SCHEMA wide_cache AUTHORIZATION ${role};
    ALTER ROLE ${role} IN DATABASE "${databases[0].name}" SET search_path = wide_cache`)
  const own = Object.assign(new URL(url), { username: role, password: 'secret' })
  const { NODE_OPTIONS: _, ...env } = process.env
  const server = spawn(process.execPath, ['server.js'], {
    cwd: folder,
    // Prisma's URLs have this parameter.
    env: {
      ...env,
      PORT: '0',
      DATABASE_URL: `${url}?schema=public`,
      WIDE_CACHE_DATABASE_URL: own.href,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  server.stdout.setEncoding('utf8').on('data', (text) => (output += text))
  try {
    const port = await eventually('it listens', () => /port (\d+)/.exec(output)?.[1])
    const get = async (path: string, viewer = 'one') => {
      const headers = { 'User-Agent': `${BROWSER} ${viewer}`, Accept: 'text/html' }
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
      return { status: response.status, text: await response.text() }
    }
    for (const [id, viewer] of [
      [2, 'one'],
      [2, 'two'],
      [2, 'two'],
      [3, 'one'],
    ] as const) {
      assert.equal((await get(`/recipes/${id}`, viewer)).status, 200)
    }
    assert.equal((await get('/recipes/4')).status, 404)
    const list = '<ol><li>Soup: 2</li><li>Cake: 1</li></ol>'
    await eventually('all have come', async () => (await get('/')).text === list)
    assert.equal((await get('/recipes/2')).text, '<h1>Soup</h1><p>2 views</p>')
    const { rows } = await client.query(
      "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
    )
    assert.deepEqual(rows, [{ tablename: 'Recipe' }], 'nothing that Prisma would take for drift')
  } finally {
    server.kill('SIGKILL')
    await client.end()
    removeFolder(folder)
  }
})
