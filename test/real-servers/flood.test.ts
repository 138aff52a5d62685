/** A flood of new pages costs bounded room, hides no page of the site, and is counted exactly. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fewOrMany } from '../scale.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { flood } from './flood.js'
import { uniqueName } from './recorded.js'

const SECONDS = fewOrMany(8, 120)
const NEW_PAGES_A_SECOND = 8_000
const VIEWS_A_SECOND = 300

test(`${SECONDS} s of ${NEW_PAGES_A_SECOND} new pages a second stay in 20,000 values`, async () => {
  const { mostValues, valuesAtEnd, looks, folds } = await flood({
    database: await sharedMysqlUrl(),
    cache: `memcached://${await sharedMemcached()}`,
    name: uniqueName(),
    seconds: SECONDS,
    newPages: NEW_PAGES_A_SECOND,
    views: VIEWS_A_SECOND,
  })
  assert(
    mostValues > 10_000 && mostValues <= 20_000,
    `${mostValues} values at one of ${looks} looks`,
  )
  assert(valuesAtEnd <= 10_000, `${valuesAtEnd} values`)
  assert(folds.length > 0)
})
