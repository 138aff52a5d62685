/** What visitors use, by what their browsers send: public lists of user agents, each judged. */
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'
import crawlers from 'crawler-user-agents'
import { OS_MAP } from 'bowser'
import { isbot } from 'isbot'
import userAgents from 'top-user-agents'
import { browser } from './browser.js'
import { language } from './language.js'
import { system } from './system.js'

const requestOf = (headers: IncomingHttpHeaders) => ({ headers }) as IncomingMessage
const MOZILLA = 'Mozilla/5.0 '
const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko) '
const CHROME =
  `${MOZILLA}(Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) ` +
  'Chrome/153.0.0.0 Safari/537.36'
const IOS = `${MOZILLA}(iPhone; CPU iPhone OS 18_5 like Mac OS X) ${WEBKIT}`
const ANDROID = `${MOZILLA}(Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) `

describe('browser() and system()', () => {
  for (const [userAgent, name, os] of [
    [CHROME, 'Chrome', 'Windows'],
    [`${CHROME} Edg/153.0.0.0`, 'Microsoft Edge', 'Windows'],
    [`${CHROME} OPR/120.0.0.0`, 'Opera', 'Windows'],
    [`${MOZILLA}(X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0`, 'Firefox', 'Linux'],
    [`${IOS}Version/18.5 Mobile/15E148 Safari/604.1`, 'Safari', 'iOS'],
    [`${IOS}CriOS/153.0 Mobile/15E148 Safari/604.1`, 'Chrome', 'iOS'],
    [`${ANDROID}Chrome/153.0.0.0 Mobile Safari/537.36`, 'Chrome', 'Android'],
    [
      `${ANDROID}SamsungBrowser/30.0 Chrome/143.0.0.0 Mobile Safari/537.36`,
      'Samsung Internet for Android',
      'Android',
    ],
    [
      `${MOZILLA}(Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT}Version/18.5 Safari/605.1.15`,
      'Safari',
      'macOS',
    ],
    [
      `${MOZILLA}(X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 Chrome/153.0.0.0 Safari/537.36`,
      'Chrome',
      'Chrome OS',
    ],
    ['anna@example.org/1.0', undefined, undefined],
    [`${MOZILLA}(${MOZILLA}(anna`, undefined, undefined],
    ['', undefined, undefined],
  ] as const) {
    test(`${userAgent.slice(0, 70)}: ${name}, ${os}`, () => {
      const request = requestOf({ 'user-agent': userAgent })
      assert.deepEqual([browser()(request), system()(request)], [name, os])
    })
  }

  for (const [hints, name, os] of [
    [
      { 'sec-ch-ua': '"Chromium";v="153", "Brave";v="153", "Not/A)Brand";v="8"' },
      'Brave',
      'Windows',
    ],
    [{ 'sec-ch-ua': '"Not(A:Brand";v="8", "Chromium";v="153"' }, 'Chrome', 'Windows'],
    [{ 'sec-ch-ua': '"anna@example.org";v="1"' }, 'Chrome', 'Windows'],
    [{ 'sec-ch-ua': ['"Brave";v="1"'] }, 'Chrome', 'Windows'],
    [{ 'sec-ch-ua-platform': '"Linux"' }, 'Chrome', 'Linux'],
    [{ 'sec-ch-ua-platform': '"Chromium OS"' }, 'Chrome', 'Chrome OS'],
    [{ 'sec-ch-ua-platform': '"anna"' }, 'Chrome', 'Windows'],
  ] as const) {
    test(`${JSON.stringify(hints)}: ${name}, ${os}`, () => {
      const request = requestOf({ 'user-agent': CHROME, ...hints } as IncomingHttpHeaders)
      assert.deepEqual([browser()(request), system()(request)], [name, os])
    })
  }

  test('each of the most frequent user agents is of a person, with names without versions', () => {
    const [nameOf, systemOf] = [browser(), system()]
    const systems = new Set<string>(Object.values(OS_MAP))
    const names = new Map<string, number>()
    for (const userAgent of userAgents) {
      const request = requestOf({ 'user-agent': userAgent })
      const [name, os] = [nameOf(request), systemOf(request)]
      assert(name && /^[A-Z][A-Za-z ]+$/.test(name), `${userAgent}: ${name}`)
      assert(os && systems.has(os), `${userAgent}: ${os}`)
      assert.equal(isbot(userAgent), false, userAgent)
      names.set(name, (names.get(name) ?? 0) + 1)
    }
    assert(userAgents.length >= 100 && names.size >= 5, `${names.size} names`)
  })

  test('no name of a crawler of the public list is more than a known name', () => {
    const nameOf = browser()
    const posing: string[] = []
    for (const userAgent of crawlers.flatMap(({ instances }) => instances)) {
      const name = nameOf(requestOf({ 'user-agent': userAgent }))
      assert(name === undefined || name.length <= 30, `${userAgent}: ${name}`)
      if (!isbot(userAgent)) posing.push(userAgent)
    }
    assert(posing.length < 20, `these pose as browsers: ${posing.join('\n')}`)
  })
})

describe('language()', () => {
  for (const [accepted, code] of [
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['en', 'en'],
    ['EN-us', 'en'],
    ['fil-PH,en;q=0.5', 'fil'],
    [' pt-BR;q=1', 'pt'],
    ['*', undefined],
    ['german', undefined],
    ['d', undefined],
    ['<b>', undefined],
    ['', undefined],
  ] as const) {
    test(`"${accepted}": ${code}`, () => {
      assert.equal(language()(requestOf({ 'accept-language': accepted })), code)
    })
  }

  test('no header: no value', () => assert.equal(language()(requestOf({})), undefined))
})
