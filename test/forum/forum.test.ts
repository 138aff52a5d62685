import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get } from 'node:http'
import { connect, createServer } from 'node:net'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { createActivity, createHits } from '../../src/index.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { BROWSER, TO_A_PAGE } from '../../src/support/http.fixture.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { killForums, spawnForum, startForum } from './forum.js'

after(killForums)

/** A busy machine may make tables for longer than views wait for the salt of visitors. */
async function databaseWithTables(): Promise<string> {
  const database = await sharedMysqlUrl()
  const options = { name: 'tables', cache: 'memory:', database, collect: false } as const
  for (const part of [createActivity(options), createHits(options)]) {
    await part.migrate()
    await part.close()
  }
  return database
}

async function figuresOf(origin: string): Promise<Record<string, unknown>> {
  return (await fetch(`${origin}/activity`)).json() as Promise<Record<string, unknown>>
}

async function firstThread(origin: string): Promise<string> {
  const path = /href="(\/threads\/[^"]+)"/.exec(await (await fetch(origin)).text())?.[1]
  assert(path)
  return origin + path
}

test('on memcached and MariaDB only real visitors count, and it stops in order', async () => {
  const forum = await startForum(['--no-traffic'], {
    MEMCACHE_SERVERS: await sharedMemcached(),
    DATABASE_URL: await databaseWithTables(),
  })
  for (const [path, agent] of [
    ['/', BROWSER],
    ['/', `${BROWSER} Edg/126`],
    ['/', 'curl/8.0'],
    ['/nowhere', BROWSER],
    ['/assets/forum.css', BROWSER],
    ['/admin/activity', BROWSER],
  ] as const) {
    await (
      await fetch(forum.origin + path, { headers: { ...TO_A_PAGE, 'user-agent': agent } })
    ).text()
  }
  const figures = await eventually('two page views', async () => {
    const found = await figuresOf(forum.origin)
    return found['pageViews'] === 2 && found
  })
  assert.equal(figures['visitors'], 2)
  assert.equal(await forum.stop(), 0, forum.output())
})

test('a thread shows its views, each visitor once, on its own page and in the list', async () => {
  const forum = await startForum(['--no-traffic'], {
    MEMCACHE_SERVERS: await sharedMemcached(),
    DATABASE_URL: await databaseWithTables(),
  })
  const pageOf = async (url: string, agent = 'curl/8.0') =>
    (await fetch(url, { headers: { ...TO_A_PAGE, 'user-agent': agent } })).text()
  const thread = await firstThread(forum.origin)
  for (const agent of [BROWSER, BROWSER, `${BROWSER} Edg/126`]) await pageOf(thread, agent)
  const viewsOn = async (url: string) =>
    [...(await pageOf(url)).matchAll(/([\d,]+) views?\s*</g)]
      .map(([, views]) => Number(views))
      .filter((views) => views > 0)
  for (const url of [thread, forum.origin]) {
    await eventually(`two views on ${url}`, async () => isDeepStrictEqual(await viewsOn(url), [2]))
  }
  assert.equal(await forum.stop(), 0, forum.output())
})

test('the dashboard is for requests from the machine itself', async () => {
  const forum = await startForum(['--no-traffic'])
  assert.match(forum.output(), /^Its dashboard is on http:\/\/localhost:\d+\/admin\/activity$/m)
  const statusOf = async (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      // fetch() would not send another Host.
      get(`${forum.origin}/admin/activity/`, { headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      }).on('error', reject)
    })
  const { port } = new URL(forum.origin)
  assert.equal(await statusOf({}), 200)
  assert.equal(await statusOf({ host: `localhost:${port}` }), 200)
  assert.equal(await statusOf({ host: `forum.example:${port}` }), 403)
  assert.equal(await statusOf({ 'x-forwarded-for': '192.0.2.1' }), 403)
  assert.equal(await forum.stop(), 0, forum.output())
})

test('a reply that is too long, empty, or no form is refused with a page', async () => {
  const forum = await startForum(['--no-traffic'])
  const thread = await firstThread(forum.origin)
  const statusOf = async (body: string | URLSearchParams) =>
    (await fetch(`${thread}/replies`, { method: 'POST', body, redirect: 'manual' })).status
  assert.equal(await statusOf(new URLSearchParams({ author: 'Anna', text: 'Hello' })), 303)
  assert.equal(await statusOf(new URLSearchParams({ author: 'Anna', text: ' ' })), 400)
  assert.equal(await statusOf(new URLSearchParams({ author: 'Anna', text: 'x'.repeat(2001) })), 400)
  assert.equal(await statusOf(new URLSearchParams({ author: 'A'.repeat(41), text: 'x' })), 400)
  assert.equal(
    await statusOf(
      new URLSearchParams([
        ['author', 'a'],
        ['text', 'x'],
        ['text', 'y'],
      ]),
    ),
    400,
  )
  assert.equal(await statusOf('no form'), 400)
  assert.equal(
    await statusOf(new URLSearchParams({ author: 'Anna', text: 'x'.repeat(40_000) })),
    413,
  )
  const page = await (await fetch(thread)).text()
  assert.match(page, /<strong>Anna<\/strong>/)
  assert.equal(await forum.stop('SIGINT'), 0, forum.output())
})

test('requests that never end do not keep it from ending', async () => {
  const forum = await startForum(['--no-traffic'])
  const socket = connect(Number(new URL(forum.origin).port), '127.0.0.1', () =>
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n'),
  )
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  // A request that comes later is answered later, so the forum has met the first one.
  await figuresOf(forum.origin)
  assert.equal(await forum.stop(), 0, forum.output())
  assert.equal(forum.output().split('\n').length, 3, forum.output())
})

test('a port in use, an invalid port and an unknown flag have plain errors', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, resolve))
  const address = other.address()
  assert(address && typeof address === 'object')
  const taken = spawnForum([], { PORT: String(address.port) })
  assert.equal(await taken.ended, 1)
  assert.equal(
    taken.output(),
    `Port ${address.port} is taken. Choose another one: PORT=${address.port + 1} npm start\n`,
  )
  other.close()
  const none = spawnForum([], { PORT: 'http' })
  assert.equal(await none.ended, 2)
  assert.match(none.output(), /PORT is to be a number/)
  const named = spawnForum(['--history'], { DATABASE_URL: 'sqlite:./forum.db' })
  assert.equal(await named.ended, 2)
  assert.match(named.output(), /--history writes a database of its own, but DATABASE_URL names one/)
  const unknown = spawnForum(['--traffic=no'])
  assert.equal(await unknown.ended, 2)
  assert.match(unknown.output(), /Unknown option '--traffic'/)
})

test('a demo with an invented history shows it, with bots, missing pages and a note', async () => {
  const forum = await startForum(['--history', '--no-traffic'])
  const read = async (path: string) => {
    const { figures } = (await (await fetch(`${forum.origin}/admin/activity/${path}`)).json()) as {
      figures: { pageViews: number; value?: string; note?: string }[]
    }
    return figures
  }
  const days = await read('shown.json?range=30d')
  assert(days.slice(0, -1).every(({ pageViews }) => pageViews > 100))
  assert.deepEqual(
    days.flatMap(({ note }) => note ?? []),
    ['In the news'],
  )
  for (const [dimension, most] of [
    ['section', '/threads/'],
    ['bot', 'GPTBot'],
    ['gone', '/forum/viewtopic.php ← links.example'],
  ]) {
    const [first] = await read(`top.json?dimension=${dimension}`)
    assert.equal(first?.value, most)
  }
  assert.equal(await forum.stop(), 0)
})
