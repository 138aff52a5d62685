/**
 * The handler of SIGTERM of docs/deployment.md, as printed, in sites that have requests under way.
 * Needs `npm run build` before.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, type ClientRequest, get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { sqlite } from '../../src/database/sqlite/sqlite.js'
import { TO_A_PAGE } from '../../src/support/http.fixture.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { removeFolder } from '../servers/process.js'
import { blocksIn } from './blocks.js'
import { newProject } from './project.js'
import { spawned } from './spawned.js'

const FILE = 'docs/deployment.md'
const PAGE = readFileSync(new URL(`../../${FILE}`, import.meta.url), 'utf8')
const [recipe, ...others] = blocksIn(FILE, PAGE).filter(
  ({ language, text }) => language === 'js' && text.includes('SIGTERM'),
)

/** Time that requests have, as printed, and what the page says of the whole. */
const PATIENCE_MS = Number(/delay\((\d+)\)/.exec(recipe?.text ?? '')?.[1])
/** The same for a site that is to end before: longer than a busy machine takes. */
const LONG_PATIENCE_MS = 60_000
const WHOLE_MS = Number(/within (\d+) s otherwise/.exec(PAGE)?.[1]) * 1000

const SITE = `
import express from 'express'
import { createActivity } from 'wide-cache'

const activity = createActivity()
const app = express()
app.use(activity.middleware())
app.get('/page', (req, res) => void res.send('<p>a page'))
app.get('/late', (req, res) => {
  console.log('late')
  setTimeout(() => res.send('<p>late'), 800)
})
app.get('/endless', (req, res) => void (res.type('html'), setInterval(() => res.write('<p>'), 50)))
app.get('/events', (req, res) => {
  res.type('text/event-stream')
  setInterval(() => res.write('data: x\\n\\n'), 50)
})
const server = app.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port))
server.on('upgrade', (req, socket) => {
  const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: x', '', '']
  socket.write(head.join('\\r\\n'))
})
for (const signal of ['SIGTERM', 'SIGINT', 'SIGUSR2']) {
  process.once(signal, () => console.log('signal'))
}
process.once('SIGTERM', () => {
  const began = performance.now()
  process.once('exit', () => console.log('took ' + Math.round(performance.now() - began)))
})
`

interface Site {
  readonly port: number
  readonly process: ReturnType<typeof spawned>
  /**
   * SIGTERM; resolves when it has ended in order, to how long that took by its own clock, and what
   * it has in SQL.
   */
  end(): Promise<{ took: number; pages: string[] }>
  /** What it has in SQL now. */
  pages(): Promise<string[]>
}

async function pagesIn(folder: string): Promise<string[]> {
  const database = sqlite(join(folder, 'wide-cache.db'))
  const { rows } = await database.query('SELECT page FROM activities ORDER BY page')
  await database.close()
  return rows.map(({ page }) => String(page))
}

async function withSite(
  express: 'express' | 'express4',
  use: (site: Site) => Promise<void>,
  { patienceMs = PATIENCE_MS, options = '' } = {},
): Promise<void> {
  assert(recipe && others.length === 0, `${FILE} has one handler of SIGTERM`)
  const folder = newProject(express)
  const file = join(folder, 'site.mjs')
  const program = SITE.replace('createActivity()', `createActivity(${options})`) + recipe.text
  writeFileSync(file, program.replace(`delay(${PATIENCE_MS})`, `delay(${patienceMs})`))
  const site = spawned(process.execPath, [file], folder)
  try {
    const port = Number(await site.says(/^port (\d+)$/m))
    await use({
      port,
      process: site,
      async end() {
        process.kill(site.pid, 'SIGTERM')
        assert.equal(await site.ended(), 0, site.output())
        const [, took] = /^took (\d+)$/m.exec(site.output()) ?? []
        assert.equal(site.output().replaceAll(/^(?:port|late|signal|took)\b.*\n/gm, ''), '')
        return { took: Number(took), pages: await pagesIn(folder) }
      },
      pages: () => pagesIn(folder),
    })
  } finally {
    site.kill()
    removeFolder(folder)
  }
}

const ask = (
  port: number,
  path: string,
  options: { agent?: Agent; headers?: { [name: string]: string } } = {},
): ClientRequest =>
  get({
    host: '127.0.0.1',
    port,
    path,
    ...options,
    headers: { ...TO_A_PAGE, ...options.headers },
  })

/** An answer as far as it has come when it begins; later errors are nobody's. */
function beginningOf(
  request: ClientRequest,
  event: 'response' | 'upgrade',
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('error', reject)
    request.once(event, (response: IncomingMessage, socket?: NodeJS.EventEmitter) => {
      for (const one of [response, socket]) one?.on('error', () => undefined)
      if (event === 'response') response.resume()
      resolve(response)
    })
  })
}

/** The whole text of an answer. */
async function whole(
  request: ClientRequest,
): Promise<{ text: string; connection: string | undefined }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    request.once('response', resolve).once('error', reject),
  )
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return { text, connection: response.headers.connection }
}

describe('SIGTERM', { concurrency: true }, () => {
  for (const express of ['express', 'express4'] as const) {
    const name = express === 'express' ? 'Express 5' : 'Express 4'

    test(`${name}: open streams, downloads, WebSockets and keep-alive do not delay the end`, () =>
      withSite(express, async (site) => {
        await Promise.all([
          beginningOf(ask(site.port, '/events'), 'response'),
          beginningOf(ask(site.port, '/endless'), 'response'),
          beginningOf(
            ask(site.port, '/socket', { headers: { connection: 'Upgrade', upgrade: 'x' } }),
            'upgrade',
          ),
        ])
        // One that goes on asking on its connection as long as it is let.
        const agent = new Agent({ keepAlive: true, maxSockets: 1 })
        let answered = 0
        const asking = (async () => {
          for (;;) {
            await whole(ask(site.port, '/page', { agent }))
            answered++
          }
        })().catch(() => undefined)
        const late = whole(ask(site.port, '/late'))
        await site.process.says(/^late$/m)
        await eventually('some pages', () => answered > 10)
        const { took, pages } = await site.end()
        await asking
        agent.destroy()
        assert.equal((await late).text, '<p>late', 'a page that is under way is answered')
        assert(took >= PATIENCE_MS && took < WHOLE_MS, `${took} ms`)
        assert.deepEqual(pages, [
          '/endless',
          '/late',
          ...Array.from({ length: answered }, () => '/page'),
        ])
      }))

    test(`${name}: connections that are kept alive without a request do not delay the end`, () =>
      withSite(
        express,
        async (site) => {
          const agent = new Agent({ keepAlive: true })
          await Promise.all([
            whole(ask(site.port, '/page', { agent })),
            whole(ask(site.port, '/page', { agent })),
          ])
          // When a later request has been answered, the site is done with those.
          await whole(ask(site.port, '/page'))
          const { took, pages } = await site.end()
          agent.destroy()
          assert(took < LONG_PATIENCE_MS, `${took} ms`)
          assert.deepEqual(pages, ['/page', '/page', '/page'])
        },
        { patienceMs: LONG_PATIENCE_MS },
      ))
  }

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGUSR2'] as const) {
    test(`${signal}: all that was served is in SQL before the wait for open streams is over`, () =>
      withSite(
        'express',
        async (site) => {
          await beginningOf(ask(site.port, '/events'), 'response')
          const served = Array.from({ length: 20 }, () => '/page')
          await Promise.all(served.map((page) => whole(ask(site.port, page))))
          process.kill(site.process.pid, signal)
          // As nodemon does.
          await site.process.says(/^signal$/m)
          process.kill(site.process.pid, signal)
          // A process that is told to end at once may still have to make its tables.
          const inSql = (): Promise<string[]> => site.pages().catch(() => [])
          await eventually('all in SQL', async () => isDeepStrictEqual(await inSql(), served))
          site.process.kill()
          assert.equal(await site.process.ended(), 'SIGKILL')
        },
        // Nothing else would bring them: no layer is drained, and the wait does not end.
        { patienceMs: 600_000, options: '{ layerSeconds: 600 }' },
      ))
  }

  test('a request after SIGTERM on a kept connection is answered, and the connection closed', () =>
    withSite(
      'express',
      async (site) => {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 })
        const first = whole(ask(site.port, '/late', { agent }))
        await site.process.says(/^late$/m)
        const ending = site.end()
        const second = whole(ask(site.port, '/page', { agent }))
        assert.deepEqual(await first, { text: '<p>late', connection: 'keep-alive' })
        assert.deepEqual(await second, { text: '<p>a page', connection: 'close' })
        const { took, pages } = await ending
        agent.destroy()
        assert(took < LONG_PATIENCE_MS, `${took} ms`)
        assert.deepEqual(pages, ['/late', '/page'])
      },
      { patienceMs: LONG_PATIENCE_MS },
    ))
})
