import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import request from 'supertest'
import { sendJson, sendTagged, sendText, sendUnavailable, tagged } from './answers.js'

const answering = (answer: (res: ServerResponse) => void) =>
  request((_req: unknown, res: ServerResponse) => {
    // As Koa leaves it.
    res.statusCode = 404
    answer(res)
  })

const page = tagged('{"é":1}', 'application/json')

test('an answer has the ETag of its body, and the same body has the same', async () => {
  assert.match(page.tag, /^"[\w-]{22}"$/)
  assert.deepEqual(tagged('{"é":1}', 'application/json'), page)
  assert.notEqual(tagged('[]', 'application/json').tag, page.tag)
  await answering((res) => sendTagged(res, page, { 'Cache-Control': 'no-cache' }))
    .get('/')
    .expect(200, { é: 1 })
    .expect('Content-Type', 'application/json')
    .expect('Content-Length', '8')
    .expect('X-Content-Type-Options', 'nosniff')
    .expect('Cache-Control', 'no-cache')
    .expect('ETag', page.tag)
})

test('the same to HEAD, without the body', async () => {
  const { text } = await answering((res) => sendTagged(res, page))
    .head('/')
    .expect(200)
    .expect('Content-Length', '8')
  assert.equal(text, undefined)
})

for (const [named, status] of [
  [page.tag, 304],
  [`W/${page.tag}`, 304],
  [`"other", ${page.tag}`, 304],
  ['*', 304],
  ['"other"', 200],
  [page.tag.slice(0, -1), 200],
  ['', 200],
] as const) {
  test(`If-None-Match: ${named} is answered with ${status}`, async () => {
    const cached = { 'Cache-Control': 'no-cache' }
    const { headers } = await answering((res) => sendTagged(res, page, cached))
      .get('/')
      .set('If-None-Match', named)
      .expect(status)
    assert.equal(headers['etag'], page.tag)
    // RFC 9110, 15.4.5: a 304 has what the 200 would have said of caching.
    assert.equal(headers['cache-control'], 'no-cache')
    assert.equal(headers['content-type'], status === 304 ? undefined : 'application/json')
  })
}

test('an answer 503 is not kept, and says when to ask again', async () => {
  await answering((res) => sendUnavailable(res, 'Nothing yet'))
    .get('/')
    .expect(503, { error: 'Nothing yet' })
    .expect('Cache-Control', 'no-store')
    .expect('Retry-After', '5')
})

test('nothing is written where the site has answered meanwhile', async () => {
  for (const late of [
    (res: ServerResponse) => sendTagged(res, page),
    (res: ServerResponse) => sendUnavailable(res, 'Nothing yet'),
    (res: ServerResponse) => sendJson(res, {}),
    (res: ServerResponse) => sendText(res, 'text/plain', 'late'),
  ]) {
    await answering((res) => {
      res.statusCode = 504
      res.end('too late')
      late(res)
    })
      .get('/')
      .expect(504, 'too late')
  }
})
