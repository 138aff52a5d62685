import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Exchange, verdictOf } from './page-view.js'

const PAGE: Exchange = {
  method: 'GET',
  headers: { 'sec-fetch-dest': 'document' },
  status: 200,
  type: 'text/html',
  disposition: undefined,
  isNoPage: false,
  isBot: false,
  isForBots: false,
}

test('a page is HTML by the type itself, not by what else its header names', () => {
  for (const [type, page] of [
    ['text/html', true],
    [' Text/HTML ; charset=utf-8', true],
    ['text/htmlx', false],
    ['application/json; of=text/html', false],
    ['multipart/mixed; text/html;', false],
  ] as const) {
    assert.equal(verdictOf({ ...PAGE, type }), page ? 'page' : 'type', type)
  }
})

test('the first reason why a response is no page is told', () => {
  const advance = { ...PAGE.headers, purpose: 'prefetch' }
  const fetched = { 'sec-fetch-dest': 'empty', purpose: 'prefetch' }
  for (const [exchange, verdict] of [
    [PAGE, 'page'],
    [{ ...PAGE, headers: advance }, 'in advance'],
    [{ ...PAGE, headers: fetched }, 'part'],
    [{ ...PAGE, headers: fetched, type: 'text/css' }, 'type'],
    [{ ...PAGE, headers: fetched, type: 'text/css', status: 206 }, 'content'],
    [{ ...PAGE, headers: fetched, type: 'text/css', status: 302 }, 'status'],
    [{ ...PAGE, headers: fetched, type: 'text/css', status: 404, method: 'POST' }, 'method'],
  ] as const) {
    assert.equal(verdictOf(exchange), verdict)
  }
})
