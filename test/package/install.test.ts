/**
 * The command that installs the package from a checkout, as README and getting started print it,
 * and the tarball that the deploy kit takes. Needs `npm run build` before.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import { pageOf } from '../docs/markdown.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BLOCK = /^<!-- install -->\n[^]*?^```sh\n(.*)\n```$[^]*?^<!-- \/install -->$/m
/** It is tested by every test that the checkout has its packages. */
const PREPARES = 'npm --prefix ../wide-cache ci && '

const folder = temporaryFolder('install')
after(() => removeFolder(folder))

const run = (program: string, ...args: string[]) => {
  const { HOME, PATH } = process.env
  // Without the build before packing, because other tests use dist.
  const env = { HOME, PATH, npm_config_ignore_scripts: 'true' }
  return promisify(execFile)(program, args, { cwd: folder, env })
}

const commandIn = (file: string): string => BLOCK.exec(pageOf(file).text)?.[1] ?? ''

const command = commandIn('README.md')

before(async () => {
  writeFileSync(join(folder, 'package.json'), '{}')
  await run('sh', '-c', command.slice(PREPARES.length).replace('../wide-cache', ROOT))
})

test('the printed command installs the package from a checkout', async () => {
  assert(command.startsWith(PREPARES), command)
  assert.equal(commandIn('docs/getting-started.md'), command)
  writeFileSync(
    join(folder, 'site.mjs'),
    "import 'express'\nimport { createActivity } from 'wide-cache'\n" +
      'console.log(createActivity.name)',
  )
  assert.equal((await run(process.execPath, 'site.mjs')).stdout, 'createActivity\n')
})

test('a URL of a server whose package is missing, or too old, says what to install', async () => {
  writeFileSync(
    join(folder, 'servers.cjs'),
    `const { createActivity } = require('wide-cache')
    for (const urls of [{ cache: 'redis://h' }, { database: 'postgres://u@h/d' }]) {
      try {
        createActivity(urls)
      } catch ({ code, message }) {
        console.log(code, message)
      }
    }`,
  )
  const redis = 'ERR_WIDE_CACHE_REDIS wide-cache: a cache of redis:// needs the package "redis", '
  const postgres =
    'ERR_WIDE_CACHE_POSTGRES wide-cache: a database of postgres:// needs the package "pg", '
  assert.equal(
    (await run(process.execPath, 'servers.cjs')).stdout,
    `${redis}which is not installed; run: npm install redis\n` +
      `${postgres}which is not installed; run: npm install pg\n`,
  )
  const old = (name: string, version: string): void => {
    mkdirSync(join(folder, 'node_modules', name))
    writeFileSync(join(folder, 'node_modules', name, 'index.js'), 'exports.createClient = () => 1')
    writeFileSync(join(folder, 'node_modules', name, 'package.json'), JSON.stringify({ version }))
  }
  old('redis', '4.7.1')
  old('pg', '8.11.3')
  assert.equal(
    (await run(process.execPath, 'servers.cjs')).stdout,
    `${redis}of version 5 or later; run: npm install redis\n` +
      `${postgres}of version 8.12 or later; 8.11.3 is installed; run: npm install pg\n`,
  )
})

test('the kit takes the tarball of this version', () => {
  const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
  const { version } = JSON.parse(read('package.json')) as { version: string }
  const kit = JSON.parse(read('deploy/package.json')) as { dependencies: Record<string, string> }
  assert.equal(kit.dependencies['wide-cache'], `file:wide-cache-${version}.tgz`)
  assert.match(read('deploy/Dockerfile'), /^COPY package\.json wide-cache-\*\.tgz \.\/$/m)
})
