import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withNodeEnv } from '../support/node-env.fixture.js'
import { keptLog } from '../support/kept-log.fixture.js'
import { BurstLogger } from '../support/logger.js'
import { Guard } from '../visitors/guard.js'
import { Addresses, VIEWS_FROM_INSIDE } from './address.js'
import type { Received } from './handler.js'

const PROXY = '10.0.0.1'

/** A request from the proxy, or from nobody's address. */
function requestOf(fields: Record<string, unknown>, remoteAddress: string | undefined = PROXY) {
  const req: unknown = { headers: {}, socket: { remoteAddress }, ...fields }
  return req as Received
}

function addresses() {
  const log = keptLog()
  const logger = new BurstLogger(log, () => 0)
  const found = new Addresses(logger, new Guard(logger))
  return { log, of: (...asked: Parameters<typeof requestOf>) => found.of(requestOf(...asked)) }
}

test("the address is req.ip where it is set, else the socket's", () => {
  const { log, of } = addresses()
  assert.equal(of({ ip: '192.0.2.1' }), '192.0.2.1')
  assert.equal(of({ ip: '192.0.2.1', headers: { 'x-forwarded-for': '192.0.2.9' } }), '192.0.2.1')
  assert.equal(of({}), PROXY)
  assert.deepEqual(log.lines, [])
})

for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip']) {
  test(`a socket's address is not taken where ${header} arrives, which is said once`, () => {
    const { log, of } = addresses()
    for (let i = 0; i < 3; i++) assert.equal(of({ headers: { [header]: '' } }), undefined)
    assert.equal(of({}), PROXY)
    assert.equal(log.lines.length, 1)
    assert.match(log.lines[0]!, new RegExp(`the header ${header} arrives, but req.ip is not set`))
    assert.doesNotMatch(log.lines[0]!, /10\.0\.0/)
  })
}

test('a framework that takes the proxy for the client is named once, and its word is taken', () => {
  const { log, of } = addresses()
  const headers = { 'x-forwarded-for': '192.0.2.9' }
  for (let i = 0; i < 3; i++) assert.equal(of({ ip: PROXY, headers }), PROXY)
  assert.equal(log.lines.length, 1)
  assert.match(log.lines[0]!, /req\.ip is the address of the connection.*"trustProxy" of Fastify/)
})

test('a stranger who forges the header gets no warning where the proxy is known', () => {
  const { log, of } = addresses()
  const headers = { 'x-forwarded-for': '192.0.2.9' }
  assert.equal(of({ ip: '192.0.2.9', headers }), '192.0.2.9')
  assert.equal(of({ ip: '192.0.2.7', headers }, '192.0.2.7'), '192.0.2.7')
  assert.deepEqual(log.lines, [])
})

test('without any address the log says so', () => {
  const { log, of } = addresses()
  const nowhere = { headers: {}, socket: {} }
  assert.equal(of(nowhere), undefined)
  assert.match(log.lines.join('\n'), /a request has no IP address/)
})

test('what is no address is no visitor, and the log says so once, without it', () => {
  const { log, of } = addresses()
  for (let i = 0; i < 3; i++) assert.equal(of({ ip: 'unknown' }), undefined)
  assert.equal(of({ ip: '192.0.2.1:50001' }), '192.0.2.1')
  assert.equal(log.lines.length, 1)
  assert.match(log.lines[0]!, /the address of a request \(req\.ip\) is no IP address/)
  assert.doesNotMatch(log.lines[0]!, /unknown/)
})

test('req.ip is read once, because Express computes it', () => {
  const { of } = addresses()
  let read = 0
  const req = Object.defineProperty({ headers: { forwarded: 'x' } }, 'ip', {
    enumerable: true,
    get: () => (read++, '192.0.2.1'),
  })
  const asked = Object.create(req, { socket: { value: {}, enumerable: true } }) as Received
  const logger = new BurstLogger(keptLog(), () => 0)
  assert.equal(new Addresses(logger, new Guard(logger)).of(asked), '192.0.2.1')
  assert.equal(read, 1)
  assert.equal(of({}), PROXY)
})

test('in production the log says once that all views come from inside', () => {
  const inside = ['127.0.0.1', '::1', '10.0.0.1', '192.168.7.1', '100.64.0.1', 'fd00::1', 'fe80::1']
  const after = (nodeEnv: string, ips: readonly (string | undefined)[]) =>
    withNodeEnv(nodeEnv, () => {
      const { log, of } = addresses()
      for (const ip of ips) of({ ip, socket: {} })
      return log.matching(/ from private or loopback addresses only/).length
    })
  const of = (count: number) => Array.from({ length: count }, (_, at) => inside[at % inside.length])
  assert.equal(after('production', of(3 * VIEWS_FROM_INSIDE)), 1)
  assert.equal(after('production', of(VIEWS_FROM_INSIDE)), 1)
  assert.equal(after('production', of(VIEWS_FROM_INSIDE - 1)), 0)
  // Views without an address say nothing, and one from outside says enough.
  const unknown = Array.from({ length: VIEWS_FROM_INSIDE }, () => 'unknown')
  assert.equal(after('production', [...of(VIEWS_FROM_INSIDE - 1), ...unknown]), 0)
  for (const outside of ['8.8.8.8', '::ffff:8.8.8.8', '2001:4860::8888', '172.32.0.1']) {
    for (const at of [0, VIEWS_FROM_INSIDE - 1]) {
      const ips = of(3 * VIEWS_FROM_INSIDE)
      ips[at] = outside
      assert.equal(after('production', ips), 0, `${outside} at ${at}`)
    }
  }
  assert.equal(after('development', of(3 * VIEWS_FROM_INSIDE)), 0)
})
