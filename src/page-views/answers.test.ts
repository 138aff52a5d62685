import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Response } from './express.js'
import { sendTagged, sendUnavailable, tagged } from './answers.js'

/** Notes what is sent; `headersSent` as given. */
function recorder(headersSent: boolean): { res: Response; sent: unknown[] } {
  const sent: unknown[] = []
  const note =
    (what: string) =>
    (value: unknown): Response => {
      sent.push([what, value])
      return res
    }
  const parts = ['set', 'type', 'send', 'status', 'json'].map((what) => [what, note(what)] as const)
  const res = { headersSent, ...Object.fromEntries(parts) } as unknown as Response
  return { res, sent }
}

test('an answer has the ETag of its body, and the same body has the same', () => {
  const { res, sent } = recorder(false)
  const page = tagged('{}', 'json')
  assert.match(page.tag, /^"[\w-]{22}"$/)
  assert.deepEqual(tagged('{}', 'json'), page)
  assert.notEqual(tagged('[]', 'json').tag, page.tag)
  sendTagged(res, page, { 'Cache-Control': 'no-cache' })
  assert.deepEqual(sent, [
    ['set', { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-cache', ETag: page.tag }],
    ['type', 'json'],
    ['send', '{}'],
  ])
})

test('an answer 503 is not kept, and says when to ask again', () => {
  const { res, sent } = recorder(false)
  sendUnavailable(res, 'Nothing yet')
  assert.deepEqual(sent, [
    ['set', { 'Cache-Control': 'no-store', 'Retry-After': '5' }],
    ['status', 503],
    ['json', { error: 'Nothing yet' }],
  ])
})

test('nothing is written where the site has answered meanwhile', () => {
  const { res, sent } = recorder(true)
  sendTagged(res, tagged('{}', 'json'))
  sendUnavailable(res, 'Nothing yet')
  assert.deepEqual(sent, [])
})
