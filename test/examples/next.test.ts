/**
 * The custom server of Next.js in docs/frameworks.md, as printed: what is fetched in advance or as
 * data counts nowhere, and each page that somebody goes to is seen. In `npm run test:all` alone,
 * because it installs Next.js.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openDatabase } from '../../src/database/open.js'
import { BROWSER } from '../../src/support/http.fixture.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { ALL } from '../scale.js'
import { startBrowser } from '../servers/browser.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PACKAGES = ['next@16', 'react@19', 'react-dom@19', 'express@5']
const PAGE = (title: string, to: string): string => `
  import Link from 'next/link'
  import { createElement as h } from 'react'
  export const dynamic = 'force-dynamic'
  export default () => h('main', {}, h('h1', {}, '${title}'), h(Link, { href: '${to}' }, 'Go on'))
`
const FILES = {
  'package.json': '{ "type": "module" }',
  'next.config.js': 'export default {}',
  'app/layout.js': `
    import { createElement as h } from 'react'
    export default ({ children }) => h('html', { lang: 'en' }, h('body', {}, children,
      h('script', { type: 'module', src: '/activity/seen.js' })))
  `,
  'app/page.js': PAGE('Recipes', '/bread'),
  'app/bread/page.js': PAGE('Bread', '/'),
}

/** The block of the docs. */
function serverOfDocs(): string {
  const docs = readFileSync(join(ROOT, 'docs/frameworks.md'), 'utf8')
  return /## Next\.js[^]*?```text\n([^]*?)```/.exec(docs)![1]!
}

async function built(): Promise<string> {
  const folder = temporaryFolder('next')
  for (const [file, text] of Object.entries({ ...FILES, 'server.js': serverOfDocs() })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  const run = (command: string, args: readonly string[]) =>
    promisify(execFile)(command, args, {
      cwd: folder,
      env: { ...process.env, NODE_OPTIONS: '', NEXT_TELEMETRY_DISABLED: '1' },
    })
  await run('npm', ['install', '--no-audit', '--no-fund', ...PACKAGES])
  symlinkSync(ROOT, join(folder, 'node_modules/wide-cache'))
  await run('npx', ['next', 'build'])
  return folder
}

test(
  'Next.js: a page is served once, and each that somebody goes to is seen',
  { skip: !ALL },
  async () => {
    const folder = await built()
    const { NODE_OPTIONS: _, ...env } = process.env
    const server = spawn(process.execPath, ['server.js'], {
      cwd: folder,
      env: { ...env, NODE_ENV: 'production', PORT: '0', DATABASE_URL: '' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    server.stdout.setEncoding('utf8').on('data', (text) => (output += text))
    const browser = await startBrowser({ args: [`--user-agent=${BROWSER}`] })
    const { database } = openDatabase(`sqlite:${join(folder, 'wide-cache.db')}`)
    try {
      const port = await eventually('it listens', () => /port (\d+)/.exec(output)?.[1])
      const page = await browser.newPage()
      const fetched: string[] = []
      page.on('request', (request) => fetched.push(request.resourceType()))
      await page.goto(`http://127.0.0.1:${port}/`)
      await page.hover('text="Go on"')
      await page.click('text="Go on"')
      await page.getByRole('heading', { name: 'Bread' }).waitFor()
      assert(fetched.includes('fetch'), 'Next.js has fetched data')
      const views = await eventually('all have come', async () => {
        const { rows } = await database.query(
          'SELECT name, views FROM activity_books ORDER BY name',
        )
        const found = rows.map(({ name, views }) => [name, Number(views)])
        return found.length === 2 && found[1]![1] === 2 && found
      })
      assert.deepEqual(views, [
        ['activity', 1],
        ['activity.seen', 2],
      ])
    } finally {
      await Promise.all([browser.close(), database.close()])
      server.kill('SIGKILL')
      removeFolder(folder)
    }
  },
)
