import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import request from 'supertest'
import { sendText } from './answers.js'
import type { Handler } from './handler.js'
import { below, pathOption, type Route, router } from './router.js'

const say = (what: string) => (_req: unknown, res: ServerResponse) =>
  sendText(res, 'text/plain', what)

const ROUTES = new Map<string, Route>([
  ['/', { GET: say('the root') }],
  ['/seen', { GET: say('read'), POST: say('written') }],
  ['/only', { POST: say('written') }],
  [
    '/fails',
    {
      GET: () => {
        throw new Error('secret')
      },
      POST: () => Promise.reject(new Error('secret')),
    },
  ],
  // eslint-disable-next-line typescript/prefer-promise-reject-errors
  ['/odd', { GET: () => Promise.reject('route') }],
])

/** A site in front of a handler, which answers by itself what is handed on. */
const siteOf = (handler: Handler) =>
  request((req: IncomingMessage, res: ServerResponse) =>
    handler(req, res, (error) =>
      sendText(res, 'text/plain', error instanceof Error ? error.message : 'the site', 410),
    ),
  )

describe('a router', () => {
  const site = siteOf(router('', ROUTES))

  test('answers a path by its methods, and HEAD as GET', async () => {
    await site.get('/').expect(200, 'the root')
    await site.get('/?a=/seen').expect(200, 'the root')
    await site.get('/seen?x').expect(200, 'read')
    await site.post('/seen').expect(200, 'written')
    await site.head('/seen').expect(200).expect('Content-Length', '4')
  })

  test('refuses other methods of its paths, and says which there are', async () => {
    await site.delete('/seen').expect(405).expect('Allow', 'GET, HEAD, POST')
    await site.post('/').expect(405).expect('Allow', 'GET, HEAD')
    await site.get('/only').expect(405).expect('Allow', 'POST')
    await site.head('/only').expect(405)
    await site.options('/only').expect(405)
  })

  test('hands on what is not exactly one of its paths', async () => {
    for (const path of ['/other', '/SEEN', '/seen/', '//', '/%73een', '/constructor']) {
      await site.get(path).expect(410, 'the site')
    }
  })

  test('hands on an error, thrown or rejected', async () => {
    await site.get('/fails').expect(410, 'secret')
    await site.post('/fails').expect(410, 'secret')
    await site.get('/odd').expect(410, 'not an error')
  })

  test('without a next handler answers by itself, and tells no error', async () => {
    const handler = router('', ROUTES)
    const alone = request((req: IncomingMessage, res: ServerResponse) => handler(req, res))
    await alone.get('/seen').expect(200, 'read')
    await alone.get('/other').expect(404, { error: 'There is nothing here' })
    await alone.get('/fails').expect(500, { error: 'This request has failed' })
  })

  test('cuts off an answer that fails in its midst, where there is no next handler', async () => {
    const handler = below('', () => (_req, res) => {
      res.write('half')
      throw new Error('secret')
    })
    const alone = request((req: IncomingMessage, res: ServerResponse) => handler(req, res))
    await assert.rejects(async () => alone.get('/'), /aborted|hang up/)
  })
})

describe('a mount path', () => {
  const site = siteOf(router('/a/b', ROUTES))

  test('is taken off, and all that is not below it is handed on', async () => {
    for (const path of ['/a/b', '/a/b/', '/a/b?x', '/a/b/?x']) {
      await site.get(path).expect(200, 'the root')
    }
    await site.get('/a/b/seen').expect(200, 'read')
    for (const path of ['/', '/a', '/a/bc', '/a/bseen', '/seen', '/x/a/b/seen', '/a/b//seen']) {
      await site.get(path).expect(410, 'the site')
    }
  })

  test('is checked', () => {
    for (const path of ['', '/a', '/a/b', '/~x.y', '/caf%C3%A9']) {
      assert.equal(pathOption('mountPath', path), path)
    }
    for (const path of [
      '/',
      '//',
      '//a',
      'a',
      '/a/',
      '/a?b',
      '/a#b',
      '/a b',
      '/café',
      'http://x/a',
    ]) {
      assert.throws(() => pathOption('publicPath', path), {
        name: 'RangeError',
        message:
          `wide-cache: option "publicPath" is "${path}"; allowed: a path as browsers send ` +
          'it, which begins with one "/" and does not end with one, such as "/app"',
      })
    }
    assert.throws(() => pathOption('mountPath', 7), { name: 'TypeError', message: /"mountPath"/ })
  })
})
