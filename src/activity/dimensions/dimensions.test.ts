import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from '../../../test/fast-check.js'
import request from 'supertest'
import type { Request } from '../../page-views/express.js'
import { expresses } from '../../support/http.fixture.js'
import { browser } from './browser.js'
import { campaign } from './campaign.js'
import { country } from './country.js'
import { deviceClass } from './device-class.js'
import { language } from './language.js'
import { isReadyMade } from './ready-made.js'
import { referrerHost } from './referrer-host.js'
import { section } from './section.js'
import { source } from './source.js'
import { SOURCES } from './sources.js'
import { system } from './system.js'

/** As much of a request as the dimensions look at. */
function requestOf(headers: Record<string, string>, originalUrl = '/'): Request {
  return { headers, originalUrl, hostname: 'forum.example' } as unknown as Request
}

describe('referrerHost()', () => {
  const of = (referer: string) =>
    referrerHost({ ownHosts: ['www.forum.example'] })(requestOf({ referer }))

  for (const [referrer, host] of [
    ['https://news.example.org/item?id=1', 'news.example.org'],
    ['HTTP://News.Example.ORG:8080', 'news.example.org'],
    ['https://user:secret@example.org/', 'example.org'],
    ['https://[2001:db8::1]:3000/a', '[2001:db8::1]'],
    ['https://forum.example/threads/1', '(internal)'],
    ['https://WWW.forum.example/', '(internal)'],
    ['https://xn--nxasmq6b.example/', 'xn--nxasmq6b.example'],
    ['https://(internal)/', undefined],
    ['https://(none)/', undefined],
    ['https://<b>.example/', undefined],
    ['android-app://com.google.android.gm/', 'com.google.android.gm'],
    ['android-app://<b>', undefined],
    ['https://www.example.org/', 'example.org'],
    ['https://www.com/', 'www.com'],
    ['https://example.org./', 'example.org'],
    ['https://bücher.example/', 'xn--bcher-kva.example'],
    ['https://0x7f.1/', '127.0.0.1'],
    ['about:blank', undefined],
    ['example.org', undefined],
    ['https://', undefined],
    ['', undefined],
  ] as const) {
    test(`"${referrer}": ${host}`, () => assert.equal(of(referrer), host))
  }

  test('no Referer: no value', () => assert.equal(referrerHost()(requestOf({})), undefined))

  for (const [headers, referrer, host] of [
    [{ host: 'Forum.example:8080' }, 'https://forum.EXAMPLE/', '(internal)'],
    [{ host: '[::1]:8080' }, 'http://[::1]:8080/', '(internal)'],
    [{ host: 'inner.local' }, 'https://forum.example/', 'forum.example'],
    // Express decides whether the proxy that says so is trusted: requestOf() plays its answer.
    [
      { host: 'inner.local', 'x-forwarded-host': 'forum.example' },
      'https://forum.example/',
      '(internal)',
    ],
  ] as const) {
    test(`from ${referrer} to ${JSON.stringify(headers)}: ${host}`, () => {
      assert.equal(referrerHost()(requestOf({ ...headers, referer: referrer })), host)
    })
  }

  test("on another server than Express the site's own host is that of the request", () => {
    const headers = { host: 'a.example', 'x-forwarded-host': 'b.example' }
    const of = (referer: string) =>
      referrerHost()({ headers: { ...headers, referer } } as unknown as Request)
    assert.equal(of('https://a.example/'), '(internal)')
    assert.equal(of('https://b.example/'), 'b.example')
  })

  for (const [name, express] of expresses) {
    test(`the site's own host is what ${name} says`, async () => {
      const seen: (string | undefined)[] = []
      for (const trusted of [0, 1]) {
        const app = express()
        app.set('trust proxy', trusted)
        app.get('/', (req, res) => {
          seen.push(req.hostname, referrerHost()(req))
          res.end()
        })
        await request(app).get('/').set({
          host: 'a.example:1',
          'x-forwarded-host': 'b.example',
          referer: 'http://b.example/',
        })
      }
      assert.deepEqual(seen, ['a.example', 'b.example', 'b.example', '(internal)'])
    })
  }

  test('16 KB of anything take no time and name no host that is not there', () => {
    assert.equal(of('https:// '.repeat(2_000)), undefined)
    assert.equal(of(`https://${'a'.repeat(16_000)}`), 'a'.repeat(504))
    fc.assert(fc.property(fc.string({ maxLength: 2_000 }), (text) => of(text) === undefined))
  })

  test('wrong options are refused', () => {
    const wrong = (options: unknown) => () => referrerHost(options as { ownHosts: string[] })
    assert.throws(wrong({ ownHosts: 'x' }), /option "ownHosts" is "x"; allowed: an array of host/)
    assert.throws(wrong({ hosts: [] }), /option "hosts" is unknown/)
  })
})

describe('source()', () => {
  const of = (referer: string, url = '/') =>
    source({ ownHosts: ['forum.example'] })(requestOf(referer ? { referer } : {}, url))

  for (const [referrer, kind] of [
    ['https://www.google.co.uk/', 'search'],
    ['https://duckduckgo.com/', 'search'],
    ['android-app://com.google.android.googlequicksearchbox/', 'search'],
    ['https://t.co/abc', 'social'],
    ['https://out.reddit.com/', 'social'],
    ['https://chatgpt.com/', 'assistants'],
    ['https://chat.openai.com/', 'assistants'],
    ['https://claude.ai/', 'assistants'],
    ['https://gemini.google.com/app', 'assistants'],
    ['https://www.perplexity.ai/', 'assistants'],
    ['https://copilot.microsoft.com/', 'assistants'],
    ['https://mail.google.com/', 'mail'],
    ['https://deref-mail.com/', 'mail'],
    ['android-app://com.google.android.gm/', 'mail'],
    ['https://www.forum.example/threads/1', 'internal'],
    ['https://docs.google.com/', 'other'],
    ['https://notchatgpt.com/', 'other'],
    ['https://google.com.evil.example/', 'other'],
    ['https://a.t.co/', 'other'],
    ['https://google/', 'other'],
    ['https://news.example.org/', 'other'],
    ['about:blank', undefined],
    ['', undefined],
  ] as const) {
    test(`"${referrer}": ${kind}`, () => assert.equal(of(referrer), kind))
  }

  for (const [url, referrer, kind] of [
    ['/?utm_source=chatgpt.com', '', 'assistants'],
    ['/?utm_source=ChatGPT', 'https://www.google.com/', 'assistants'],
    ['/?utm_source=newsletter', 'https://t.co/', 'mail'],
    ['/?utm_source=spring', 'https://t.co/', 'social'],
    ['/?utm_source=spring', '', 'other'],
    ['/?utm_medium=email', '', undefined],
    ['/?utm_source=newsletter', 'https://forum.example/', 'internal'],
  ] as const) {
    test(`${url} from "${referrer}": ${kind}`, () => assert.equal(of(referrer, url), kind))
  }

  test('each name of the list stands for one kind, and hosts are as URLs have them', () => {
    const names = Object.values(SOURCES).flatMap((text) => text.split(' '))
    assert(names.length > 300)
    assert.deepEqual(names.length, new Set(names).size)
    for (const name of names.filter((one) => one.includes('.'))) {
      assert.equal(new URL(`https://${name}`).hostname, name)
      assert(!name.startsWith('www.'), name)
    }
  })

  test('wrong options are refused', () => {
    assert.throws(() => source({ ownHost: 'x' } as object), /option "ownHost" is unknown; source /)
  })
})

describe('campaign()', () => {
  test('is read from the url where nobody has rewritten it', () => {
    const req: unknown = { headers: {}, url: '/a?utm_source=news' }
    assert.equal(campaign()(req as Request), 'news')
  })

  for (const [url, value] of [
    ['/?utm_source=newsletter&utm_medium=email&utm_campaign=spring', 'newsletter/email/spring'],
    ['/a?x=1&utm_source=a%20b', 'a b'],
    ['/?utm_campaign=spring', '//spring'],
    ['/?utm_source=', undefined],
    ['/utm_source=a', undefined],
    ['/?q=1', undefined],
    ['/', undefined],
    ['/?utm_source=%ff%zz', '\ufffd%zz'],
    ['/?xutm_source=a&utm_source=b&utm_source=c', 'b'],
    ['/?utm_source=a+b&fbclid=1', 'a b'],
    [`/?${'x'.repeat(2_048)}&utm_source=a`, undefined],
  ] as const) {
    test(`${url.slice(0, 60)}: ${value}`, () => {
      assert.equal(campaign()(requestOf({}, url)), value)
    })
  }

  test('parameters are read as URLSearchParams reads them', () => {
    const name = fc.constantFrom('utm_source', 'utm_medium', 'utm_campaign', 'utm_id', 'q', '')
    const value = fc.oneof(fc.webQueryParameters(), fc.stringMatching(/^[a-z%+=?0-9/]{0,9}$/))
    const query = fc.array(fc.tuple(name, value), { maxLength: 6 })
    fc.assert(
      fc.property(query, (pairs) => {
        // A "?" at the start is no part of the first name.
        const text = `_&${pairs.map(([name, value]) => `${name}=${value}`).join('&')}`
        const params = new URLSearchParams(text)
        const parts = ['source', 'medium', 'campaign'].map(
          (part) => params.get(`utm_${part}`) ?? '',
        )
        while (parts.at(-1) === '') parts.pop()
        const wanted = parts.length > 0 ? parts.join('/') : undefined
        assert.equal(campaign()(requestOf({}, `/?${text}`)), wanted)
      }),
    )
  })
})

describe('section()', () => {
  for (const [url, value] of [
    ['/blog/2026/spring?a=/b', '/blog/'],
    ['/blog/', '/blog/'],
    ['/%62log/../blog/a', '/blog/'],
    ['https://forum.example/blog/a', '/blog/'],
    ['/blog', undefined],
    ['/?a=/b/c', undefined],
    ['//blog/a', undefined],
    ['*', undefined],
  ] as const) {
    test(`${url}: ${value}`, () => assert.equal(section()(requestOf({}, url)), value))
  }
})

describe('country()', () => {
  for (const [said, code] of [
    ['de', 'DE'],
    ['XX', undefined],
    ['T1', undefined],
    ['DEU', undefined],
    ['D\u00c9', undefined],
    ['', undefined],
  ] as const) {
    test(`"${said}": ${code}`, () => {
      assert.equal(country('CF-IPCountry')(requestOf({ 'cf-ipcountry': said })), code)
    })
  }

  test('no such header: no value; a name that is none is refused', () => {
    assert.equal(country('cf-ipcountry')(requestOf({})), undefined)
    assert.throws(() => country('cf ipcountry'), /"header" is "cf ipcountry"; allowed: the name/)
  })
})

describe('deviceClass()', () => {
  const iPhone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile/15E148 Safari/604.1'
  const iPad = 'Mozilla/5.0 (iPad; CPU OS 16_0 like Mac OS X) Mobile/15E148 Safari/604.1'
  const android = (end: string) =>
    `Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 ${end}Safari/537.36`
  const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0.0.0 Safari/537.36'
  for (const [headers, device] of [
    [{ 'user-agent': iPhone }, 'phone'],
    [{ 'user-agent': iPad }, 'tablet'],
    [{ 'user-agent': android('Mobile ') }, 'phone'],
    [{ 'user-agent': android('') }, 'tablet'],
    [{ 'user-agent': windows }, 'desktop'],
    [{ 'user-agent': windows, 'sec-ch-ua-mobile': '?1' }, 'phone'],
    [{ 'sec-ch-ua-mobile': '?0', 'sec-ch-ua-platform': '"Android"' }, 'tablet'],
    [{ 'user-agent': iPhone, 'sec-ch-ua-mobile': '?0' }, 'desktop'],
    [{ 'user-agent': `${' '.repeat(600)}${iPhone}` }, 'desktop'],
    [{}, undefined],
  ] as const) {
    test(`${JSON.stringify(headers).slice(0, 70)}: ${device}`, () => {
      assert.equal(deviceClass()(requestOf(headers)), device)
    })
  }
})

test('ready-made dimensions are marked: no place is remembered for them', () => {
  for (const dimension of [
    referrerHost(),
    source(),
    campaign(),
    country('cf-ipcountry'),
    deviceClass(),
    browser(),
    system(),
    language(),
    section(),
  ]) {
    assert(isReadyMade(dimension))
  }
  assert(!isReadyMade(() => 'value'))
})
