/** A site behind real proxies, with the settings that docs/deployment.md shows. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { before, test } from 'node:test'
import express from 'express'
import { createActivity, memory, sqlite } from '../../src/index.js'
import { serving, TO_A_PAGE } from '../../src/support/http.fixture.js'
import { keptLog } from '../../src/support/kept-log.fixture.js'
import { blocksIn } from '../docs/blocks.js'
import { pageOf } from '../docs/markdown.js'
import { behindProxy } from '../servers/proxies.js'

const SNIPPETS = blocksIn('docs/deployment.md', pageOf('docs/deployment.md').text)

before(() => {
  process.env['NODE_ENV'] = 'production'
})

/** Asks from an address of the loopback, each of which is a client. */
function ask(port: number, localAddress: string, path: string, report?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      ...TO_A_PAGE,
      ...(report !== undefined && {
        Origin: `http://127.0.0.1:${port}`,
        'Content-Type': 'application/json',
      }),
    }
    const method = report === undefined ? 'GET' : 'POST'
    const asked = request({ port, host: '127.0.0.1', localAddress, path, method, headers })
    asked.on('error', reject)
    asked.on('response', (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode!))
    })
    asked.end(report)
  })
}

/** A site behind a proxy, and what it has counted after `use`. */
async function counted(
  name: 'nginx' | 'apache' | 'caddy',
  snippet: string,
  use: (port: number) => Promise<void>,
): Promise<{ pageViews: number; visitors: number; seen: number; log: readonly string[] }> {
  const [cache, database, log] = [memory(), sqlite(':memory:'), keptLog()]
  const activity = createActivity({ cache, database, collect: false, logger: log })
  const app = express()
  app.set('trust proxy', 1)
  app.use(activity.middleware())
  app.use('/activity', activity.router())
  app.use((_req, res) => void res.send('<p>'))
  try {
    await serving(app, (sitePort) => behindProxy(name, snippet, sitePort, use))
    await activity.flush()
    await activity.drain({ all: true })
    const range = { from: Date.now() - 86_400_000, to: Date.now() }
    const days = await activity.history({ ...range, by: 'day' })
    const sum = (field: 'pageViews' | 'visitors' | 'seen') =>
      days.reduce((total, day) => total + Number(day[field] ?? 0), 0)
    return {
      pageViews: sum('pageViews'),
      visitors: sum('visitors'),
      seen: sum('seen'),
      log: log.lines.filter((line) => !line.includes('the cache is memory:')),
    }
  } finally {
    await activity.close()
    await Promise.all([cache.close(), database.close()])
  }
}

for (const [name, language] of [
  ['nginx', 'nginx'],
  ['apache', 'apache'],
  ['caddy', 'caddyfile'],
] as const) {
  test(`behind ${name}, visitors are told apart, and browsers may report`, async () => {
    const [snippet, ...more] = SNIPPETS.filter((block) => block.language === language)
    assert(snippet && more.length === 0)
    const found = await counted(name, snippet.text, async (port) => {
      for (const client of ['127.0.0.2', '127.0.0.3', '127.0.0.2']) {
        assert.equal(await ask(port, client, '/'), 200)
      }
      assert.equal(await ask(port, '127.0.0.2', '/activity/seen', '{"page":"/"}'), 204)
    })
    assert.deepEqual(found, { pageViews: 3, visitors: 2, seen: 1, log: [] })
  })
}

test('the log says what is wrong behind a plain proxy_pass', async () => {
  const snippet = 'location / {\n  proxy_pass http://127.0.0.1:3000;\n}'
  const found = await counted('nginx', snippet, async (port) => {
    for (let view = 0; view < 100; view++) await ask(port, `127.0.0.${2 + (view % 9)}`, '/')
    assert.equal(await ask(port, '127.0.0.2', '/activity/seen', '{"page":"/"}'), 403)
  })
  assert.deepEqual([found.pageViews, found.visitors, found.seen], [100, 1, 0])
  const lines = found.log.join('\n')
  assert.match(lines, /the first 100 views came from private or loopback addresses only/)
  assert.match(lines, /a report of a seen page is refused with 403/)
  assert.equal(found.log.length, 2)
})
