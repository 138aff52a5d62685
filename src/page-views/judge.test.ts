import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Judge } from './judge.js'
import type { Exchange } from './page-view.js'

const HTML = { accept: 'text/html' }
const COMMON = {
  method: 'GET',
  headers: HTML,
  disposition: undefined,
  isBot: false,
  isForBots: false,
}

/** Answers to one target, and whether they say that it leads to a page. */
const ANSWERS = {
  page: { status: 200, type: 'text/html', says: true },
  picture: { status: 200, type: 'image/png', says: false },
  'picture for a script': { status: 200, type: 'image/png', headers: {}, says: undefined },
  'error in JSON': { status: 404, type: 'application/json', says: undefined },
  'failure of the server': { status: 500, type: 'application/json', says: undefined },
  redirect: { status: 302, type: undefined, says: undefined },
  'no content': { status: 204, type: undefined, says: undefined },
} as const

const KINDS = Object.keys(ANSWERS) as (keyof typeof ANSWERS)[]

test('a 304 is a page, unless the last answer that tells was none', () => {
  for (const first of KINDS) {
    for (const second of KINDS) {
      for (const third of KINDS) {
        const judge = new Judge()
        const exchange = (fields: Partial<Exchange>): Exchange => ({
          ...COMMON,
          status: 304,
          type: undefined,
          isNoPage: judge.isNoPage('/a'),
          ...fields,
        })
        let isPage = true
        for (const kind of [first, second, third]) {
          const { says, ...fields } = ANSWERS[kind]
          judge.verdictOf(exchange(fields), '/a')
          isPage = says ?? isPage
          const shown = [first, second, third].join(', ')
          assert.equal(judge.verdictOf(exchange({}), '/a'), isPage ? 'page' : 'type', shown)
          assert.equal(judge.isNoPage('/b'), false)
        }
      }
    }
  }
})
