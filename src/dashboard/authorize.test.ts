import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Request } from '../page-views/express.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { withNodeEnv } from '../support/node-env.fixture.js'
import { ManualClock } from '../support/manual-clock.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { gate, isDeveloper } from './authorize.js'
import type { Authorize } from './options.js'

/** Returns a request with the parts that the gate looks at. */
function request(
  headers: Record<string, string> = {},
  remoteAddress: string | undefined = '127.0.0.1',
  httpVersion = '1.1',
): Request {
  const [httpVersionMajor, httpVersionMinor] = httpVersion.split('.').map(Number)
  const asked: unknown = {
    headers: { host: 'localhost:3000', ...headers },
    socket: { remoteAddress },
    httpVersionMajor,
    httpVersionMinor,
  }
  return asked as Request
}

function atGate(authorize: unknown) {
  const log = keptLog()
  const clock = new ManualClock(0)
  const verdictOn = gate(authorize as Authorize, new BurstLogger(log, clock.elapsed), clock)
  return { log, clock, verdictOn }
}

describe('with authorize', () => {
  test('true lets a request in, from wherever it comes, and false does not', async () => {
    const stranger = request({ 'x-forwarded-for': '192.0.2.1', host: 'example.org' }, '192.0.2.9')
    for (const [answer, verdict] of [
      [true, 'allowed'],
      [false, 'refused'],
      ['figures', 'figures'],
    ] as const) {
      assert.equal(await atGate(() => answer).verdictOn(stranger), verdict)
      assert.equal(await atGate(async () => answer).verdictOn(stranger), verdict)
    }
  })

  const secret = new Error('no session for anna@example.org')
  for (const [what, authorize, said] of [
    [
      'throws',
      () => {
        throw secret
      },
      'threw an error of class Error',
    ],
    ['rejects', () => Promise.reject(secret), 'threw an error of class Error'],
    ['returns a user', () => ({ name: 'anna' }), 'returned an object, not a boolean'],
    ['returns 1', async () => 1, 'returned a number, not a boolean'],
    ['returns nothing', () => undefined, 'returned undefined, not a boolean'],
  ] as const) {
    test(`one that ${what} refuses; the log says it once, without values`, async () => {
      const { log, verdictOn } = atGate(authorize)
      for (let i = 0; i < 3; i++) assert.equal(await verdictOn(request()), 'refused')
      assert.deepEqual(log.lines, [
        `wide-cache: the function given as "authorize" ${said}; the dashboard answers with 403`,
      ])
    })
  }

  test('the log says each kind of failure', async () => {
    const answers = ['anna', secret, 'anna', secret]
    const { log, verdictOn } = atGate(() => {
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return answer
    })
    while (answers.length > 0) await verdictOn(request())
    assert.deepEqual(
      log.lines.map((line) => /(?:returned|threw) \w+ \w+/.exec(line)?.[0]),
      ['returned a string', 'threw an error'],
    )
  })

  test('one that does not answer within ten seconds refuses', async () => {
    const { log, clock, verdictOn } = atGate(() => new Promise(() => undefined))
    const verdict = verdictOn(request())
    await clock.advance(10_000)
    assert.equal(await verdict, 'refused')
    assert.match(
      log.lines[0]!,
      /"authorize" did not answer within 10 s; the dashboard answers with 403/,
    )
  })
})

describe('without authorize', () => {
  test('a developer at the machine itself may see it', () => {
    for (const host of ['localhost', 'LOCALHOST:3000', '127.0.0.1:80', '127.8.9.1', '[::1]:3000']) {
      for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '127.1.2.3']) {
        assert(isDeveloper(request({ host }, address), 'development'), `${host} ${address}`)
      }
    }
  })

  for (const nodeEnv of [undefined, '', 'production', 'Development', 'development ', 'dev']) {
    test(`nobody may with NODE_ENV ${JSON.stringify(nodeEnv)}`, () => {
      assert(!isDeveloper(request(), nodeEnv))
    })
  }

  for (const address of ['192.168.0.7', '::2', '::ffff:10.0.0.1', '128.0.0.1', undefined]) {
    test(`nobody may from ${address}`, () => {
      const asked = request()
      Object.assign(asked.socket, { remoteAddress: address })
      assert(!isDeveloper(asked, 'development'))
    })
  }

  for (const host of [
    '',
    'example.org',
    'localhost.example.org',
    '127.0.0.1.example.org',
    'xlocalhost',
    '192.168.0.7:3000',
    'localhost:3000:1',
    'localhost:3000@example.org',
  ]) {
    test(`nobody may by the Host "${host}"`, () => {
      assert(!isDeveloper(request({ host }), 'development'))
      assert(!isDeveloper(request({ host, ':authority': 'localhost' }), 'development'))
    })
  }

  for (const header of [
    'forwarded',
    'via',
    'x-forwarded-for',
    'x-forwarded-proto',
    'x-forwarded-host',
    'x-forwarded',
    'x-real-ip',
    'x-client-ip',
    'x-cluster-client-ip',
    'x-envoy-external-address',
    'x-original-forwarded-for',
    'true-client-ip',
    'cf-connecting-ip',
    'cf-ray',
    'fastly-client-ip',
    'cdn-loop',
    'x-amzn-trace-id',
  ]) {
    test(`nobody may with the header ${header}, even if it is empty`, () => {
      assert(!isDeveloper(request({ [header]: '' }), 'development'))
    })
  }

  test('nobody may by HTTP/1.0, which a proxy with its defaults speaks and no browser', () => {
    assert(!isDeveloper(request({}, '127.0.0.1', '1.0'), 'development'))
  })

  test('others learn that it is not set up, and the log says so', async () => {
    const { log, verdictOn } = atGate(undefined)
    const verdictIn = (env: string) => withNodeEnv(env, () => verdictOn(request()))
    assert.equal(await verdictIn('development'), 'allowed')
    assert.deepEqual(log.lines, [])
    assert.equal(await verdictIn('production'), 'not set up')
    assert.match(log.lines[0]!, /because the option "authorize" is not given/)
  })
})
