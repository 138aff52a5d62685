import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Exchange, isGone, verdictOf } from './page-view.js'

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

test('a page is gone where a person went to an address that leads to nothing', () => {
  for (const [fields, gone] of [
    [{ status: 404 }, true],
    [{ status: 410 }, true],
    [{ status: 403 }, false],
    [{ status: 500 }, false],
    [{ status: 200 }, false],
    [{ status: 404, method: 'HEAD' }, false],
    [{ status: 404, method: 'POST' }, false],
    [{ status: 404, isBot: true }, false],
    [{ status: 404, headers: { ...PAGE.headers, purpose: 'prefetch' } }, false],
    [{ status: 404, headers: { 'sec-fetch-dest': 'image' } }, false],
  ] as const) {
    assert.equal(isGone({ ...PAGE, ...fields }), gone, JSON.stringify(fields))
  }
})
