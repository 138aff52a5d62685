/**
 * Faults of a server and of the network, which every adapter that speaks to a server survives in
 * the same way.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../support/eventually.fixture.js'
import {
  openBehindProxy,
  recovery,
  SHORT,
  stoppedTime,
} from '../../test/servers/cache-behind-proxy.js'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'
import type { FaultyTcp } from '../../test/servers/faulty-tcp.js'
import { freePort } from '../../test/servers/free-port.js'
import { PATIENT } from '../../test/servers/memcached.js'
import type { Cache } from './cache.js'

const MIB = 1024 * 1024
const x = Buffer.from('x')
const TIMEOUT = { name: 'CacheError', code: 'CACHE_TIMEOUT' }
const UNREACHABLE = { name: 'CacheError', code: 'CACHE_UNREACHABLE' }

/** Interval at which a server that is down is asked again. */
const PROBE_MS = 1000

/** A server of the test. */
interface Server {
  /** `host:port` */
  readonly address: string
  stop(): Promise<void>
}

interface Adapter {
  readonly name: string
  start(port?: number): Promise<Server>
  open(address: string, options: { timeoutMs: number }): Cache
  /** An expression that opens the server at `address`, in a program that imports what it needs. */
  readonly program: string
  /** Bytes that are no reply of the server to anything. */
  readonly strays: readonly Buffer[]
}

/** All operations but `getMany`, each about one key. */
const OPERATIONS: readonly ((cache: Cache, key: string) => Promise<unknown>)[] = [
  (cache, key) => cache.get(key),
  (cache, key) => cache.set(key, x, 60),
  (cache, key) => cache.add(key, x, 60),
  (cache, key) => cache.append(key, x),
  (cache, key) => cache.delete(key),
  (cache, key) => cache.increment(key),
]

/** Registers the tests. */
export function testServerFaults({ name, start, open, program, strays }: Adapter): void {
  describe(`${name}: faults of a server`, () => {
    let server: Server
    before(async () => void (server = await start()))
    after(() => server.stop())
    const behindProxy = (
      options: { timeoutMs: number },
      body: (cache: Cache, proxy: FaultyTcp) => Promise<void>,
    ): Promise<void> => openBehindProxy(server.address, (address) => open(address, options), body)

    test('that stays silent: requests time out, then fail at once, until it is back', (t) =>
      behindProxy(SHORT, async (cache, proxy) => {
        const time = stoppedTime(t)
        await cache.set('silent', x, 60)
        proxy.swallow()
        const waiting = Array.from({ length: 20 }, () =>
          assert.rejects(cache.get('silent'), TIMEOUT),
        )
        time.pass(SHORT.timeoutMs)
        await Promise.all(waiting)
        const connections = proxy.connections
        for (let i = 0; i < 100; i++) {
          assert.equal(await atOnce(cache.append('silent', x).catch(serverOf)), proxy.address)
        }
        assert.equal(proxy.connections, connections)
        proxy.pass()
        time.pass(PROBE_MS)
        await recovery(cache)
        assert.equal(String(await cache.get('silent')), 'x')
      }))

    test('that stays silent while more is being written all the time is noticed too', (t) =>
      behindProxy(SHORT, async (cache, proxy) => {
        const time = stoppedTime(t)
        await cache.get('busy')
        proxy.swallow()
        const outcomes = new Set<string>()
        await eventually('requests time out, then are refused', () => {
          time.pass(SHORT.timeoutMs / 10)
          cache.append('busy', x).catch((error: { code: string }) => outcomes.add(error.code))
          return outcomes.has('CACHE_TIMEOUT') && outcomes.has('CACHE_UNREACHABLE')
        })
      }))

    test('is tried once a second, by one request, and after a rest by all', (t) =>
      behindProxy(SHORT, async (cache, proxy) => {
        const time = stoppedTime(t)
        await cache.get('probe')
        proxy.swallow()
        const ask = () => [1, 2, 3].map(() => cache.get('probe').then(() => 'answered', serverOf))
        const fail = async (asked: readonly Promise<unknown>[]) => {
          let failed = false
          void Promise.all(asked).then(() => (failed = true))
          // It may have to connect first, and then waits anew.
          await eventually('they fail', () => {
            if (!failed) time.pass(SHORT.timeoutMs)
            return failed
          })
        }
        await fail(ask())
        const before = proxy.connections
        for (let probes = 1; probes <= 3; probes++) {
          time.pass(PROBE_MS - 1)
          for (const refused of ask()) assert.equal(await atOnce(refused), proxy.address)
          time.pass(1)
          // Several at once: only one of them may be the probe.
          const asked = ask()
          assert.deepEqual(await Promise.all(asked.map(atOnce)), [
            'waits',
            proxy.address,
            proxy.address,
          ])
          await fail(asked)
          assert.equal(proxy.connections - before, probes)
        }
        // Nobody has asked for long, so nobody knows.
        time.pass(PROBE_MS + 5_000)
        const asked = ask()
        assert.deepEqual(await Promise.all(asked.map(atOnce)), ['waits', 'waits', 'waits'])
        await fail(asked)
        for (const refused of ask()) assert.equal(await atOnce(refused), proxy.address)
      }))

    test('is not tried a second time while a try may still be answered', (t) =>
      behindProxy({ timeoutMs: 10_000 }, async (cache, proxy) => {
        const time = stoppedTime(t)
        proxy.closeOnRequest('fin')
        await assert.rejects(cache.get('probe'), TIMEOUT)
        proxy.swallow()
        time.pass(PROBE_MS)
        const trying = cache.get('probe').catch((error: { code: string }) => error.code)
        // It may take its time twice: to connect, and to be answered.
        for (const ms of [PROBE_MS, 20_000 - PROBE_MS - 1]) {
          time.pass(ms)
          assert.equal(await atOnce(cache.get('probe').catch(serverOf)), proxy.address)
        }
        await cache.close()
        assert.equal(await trying, 'CACHE_CLOSED')
      }))

    test('that nobody listens on is unreachable, and found when it starts', async () => {
      const port = await freePort()
      const cache = open(`127.0.0.1:${port}`, PATIENT)
      await assert.rejects(cache.get('late'), {
        ...UNREACHABLE,
        message: new RegExp(`127\\.0\\.0\\.1:${port} cannot be reached \\(ECONNREFUSED\\)`),
      })
      const late = await start(port)
      try {
        await recovery(cache)
        assert.equal(await cache.set('late', x, 60), true)
      } finally {
        await cache.close()
        await late.stop()
      }
    })

    test('whose host name is unknown is unreachable', async () => {
      const cache = open('no-such-host.invalid:11211', PATIENT)
      await assert.rejects(cache.get('nowhere'), UNREACHABLE)
      await cache.close()
    })

    test('that accepts and closes at once is not connected to at each request', () =>
      behindProxy(PATIENT, async (cache, proxy) => {
        proxy.closeOnRequest('fin')
        for (let i = 0; i < 50; i++) await assert.rejects(cache.get('door'))
        assert.ok(proxy.connections <= 3, `${proxy.connections} connections`)
      }))

    test('requests that were answered take no room', () =>
      behindProxy(PATIENT, async (cache) => {
        const large = Buffer.alloc(MIB - 1_000)
        for (let i = 0; i < 40; i++) await cache.set('room', large, 60)
        await Promise.all([cache.set('room', large, 60), cache.set('room', large, 60)])
      }))

    test('holds a bounded number of requests and of bytes', () =>
      behindProxy({ timeoutMs: 1000 }, async (cache, proxy) => {
        proxy.swallow()
        const codes: string[] = []
        const note = (error: { code: string; message: string }) =>
          codes.push(/in flight and is not asked/.test(error.message) ? 'full' : error.code)
        const small = Array.from({ length: 10_000 }, () => cache.append('full', x).catch(note))
        await sleep(0)
        assert.equal(codes.filter((code) => code === 'full').length, 10_000 - 8192)
        await Promise.all(small)
        assert.equal(codes.filter((code) => code === 'full').length, 10_000 - 8192)

        proxy.pass()
        await recovery(cache)
        proxy.swallow()
        codes.length = 0
        const large = Array.from({ length: 40 }, () =>
          cache.append('full', Buffer.alloc(MIB)).catch(note),
        )
        await Promise.all(large)
        const full = codes.filter((code) => code === 'full').length
        assert.ok(full >= 8 && full <= 10, `${full} of 40 MiB are refused over 32`)
      }))

    test('is not taken for silent by a busy process that has not read its answers', async () => {
      const busy = () => {
        const begun = performance.now()
        while (performance.now() - begun < 1500);
      }
      const cache = open(server.address, { timeoutMs: 1000 })
      const connecting = cache.set('busy', x, 60)
      busy()
      assert.equal(await connecting, true)
      const answers = [cache.get('busy'), cache.append('busy', x)]
      busy()
      await Promise.all(answers)
      await cache.close()
    })

    test('an append or increment whose reply is lost has been sent exactly once', () =>
      behindProxy(SHORT, async (cache, proxy) => {
        await stored(cache, 'once:append', x)
        await stored(cache, 'once:number', Buffer.from('1'))
        proxy.mute()
        proxy.forget()
        const lost = [
          cache.append('once:append', Buffer.from('yy')),
          cache.increment('once:number'),
        ]
        for (const one of lost) await assert.rejects(one, TIMEOUT)
        await sleep(600)
        assert.equal(count(proxy.received, 'once:append'), 1)
        assert.equal(count(proxy.received, 'once:number'), 1)
        proxy.pass()
        await recovery(cache)
        assert.equal(String(await cache.get('once:append')), 'xyy')
        assert.equal(String(await cache.get('once:number')), '2')
      }))

    for (const ending of ['fin', 'rst'] as const) {
      test(`no operation is sent again after its connection has ended (${ending})`, (t) =>
        behindProxy(PATIENT, async (cache, proxy) => {
          // So no timeout ends them.
          stoppedTime(t)
          for (const [at, operation] of OPERATIONS.entries()) {
            const key = `ends:${at}`
            await cache.set(key, Buffer.from('1'), 60)
            proxy.forget()
            proxy.closeOnRequest(ending)
            await assert.rejects(operation(cache, key), TIMEOUT, key)
            proxy.pass()
            assert.equal(String(await cache.get('ends:0')), '1')
            assert.equal(count(proxy.received, key), at === 0 ? 2 : 1, key)
          }
        }))
    }

    test('operations on a server that is down name it; getMany tells of each key', async () => {
      const address = `127.0.0.1:${await freePort()}`
      const cache = open(address, PATIENT)
      for (const operation of OPERATIONS) {
        await assert.rejects(operation(cache, 'down'), { ...UNREACHABLE, server: address })
      }
      const unanswered: string[] = []
      const found = await cache.getMany(['a', 'b'], (key, { code }) => {
        unanswered.push(`${key} ${code}`)
      })
      assert.equal(found.size, 0)
      assert.deepEqual(unanswered.sort(), ['a CACHE_UNREACHABLE', 'b CACHE_UNREACHABLE'])
      await assert.rejects(cache.getMany(['a', 'b']), UNREACHABLE)
      await cache.close()
    })

    test('close lets go of requests in flight', () =>
      behindProxy(PATIENT, async (cache, proxy) => {
        await cache.get('closed')
        proxy.swallow()
        const rejected = assert.rejects(cache.get('closed'), { code: 'CACHE_CLOSED' })
        await cache.close()
        await rejected
        for (const operation of OPERATIONS) {
          await assert.rejects(operation(cache, 'closed'), { code: 'CACHE_CLOSED' })
        }
      }))

    test('a process ends silently after close, though a server is dead', async () => {
      const dead = `127.0.0.1:${await freePort()}`
      const script = `
        const done = []
        for (const address of ['${server.address}', '${dead}']) {
          const cache = ${program}
          const set = (_, i) => cache.set('exit:' + i, Buffer.from('x'), 60)
          const all = await Promise.allSettled(Array.from({ length: 20 }, set))
          await cache.close()
          done.push(all.filter(({ status }) => status === 'fulfilled').length)
        }
        process.stdout.write(String(done))
      `
      const { stdout, stderr } = await promisify(execFile)(
        process.execPath,
        ['--trace-warnings', ...TYPESCRIPT, '--input-type=module', '-e', script],
        { timeout: 30_000 },
      )
      assert.equal(stdout, '20,0')
      assert.equal(stderr, '')
    })

    test('a connection keeps the process alive while a request is in flight, and no longer', () =>
      behindProxy(PATIENT, async (cache, proxy) => {
        const keeping = (): number =>
          process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
        await cache.get('connects')
        const idle = keeping()
        proxy.delay(100)
        const inFlight = [cache.get('one'), cache.set('another', x, 60)]
        assert.equal(keeping(), idle + 1)
        await inFlight[0]
        await inFlight[1]
        assert.equal(keeping(), idle)
      }))

    test('a connection closed while idle costs nothing', () =>
      behindProxy(PATIENT, async (cache, proxy) => {
        await cache.set('idle', x, 60)
        proxy.drop('fin')
        await sleep(100)
        assert.equal(String(await cache.get('idle')), 'x')
      }))

    test('replies of any size, in any pieces, are put together', () =>
      behindProxy(PATIENT, async (cache) => {
        const values = new Map(
          Array.from({ length: 60 }, (_, i) => [`large:${i}`, Buffer.alloc(i * 16_000, i)]),
        )
        for (const [key, value] of values) assert.equal(await cache.set(key, value, 60), true)
        assert.deepEqual(await cache.getMany([...values.keys()]), values)
      }))

    test('clients that race to plant an initial number are all counted', async () => {
      const clients = Array.from({ length: 6 }, () => open(server.address, PATIENT))
      for (let i = 0; i < 300; i++) {
        const sums = await Promise.all(
          clients.map((client) => client.increment(`race:${i}`, 1, { initial: 1, ttlSeconds: 60 })),
        )
        assert.deepEqual(sums.map(Number).sort(), [1, 2, 3, 4, 5, 6])
      }
      await Promise.all(clients.map((client) => client.close()))
    })

    test("one key of 251 bytes breaks nobody else's connection", () =>
      behindProxy(PATIENT, async (cache, proxy) => {
        const others = Array.from({ length: 50 }, () => cache.get('fine'))
        await assert.rejects(cache.get('k'.repeat(251)), RangeError)
        await Promise.all(others)
        assert.equal(proxy.connections, 1)
        assert.equal(count(proxy.received, 'kkk'), 0)
      }))

    for (const ending of ['fin', 'rst'] as const) {
      test(`requests in flight at the end (${ending}) reject at once; the next works`, (t) =>
        behindProxy(PATIENT, async (cache, proxy) => {
          await cache.set('closing', x, 60)
          // So no timeout ends them.
          stoppedTime(t)
          proxy.closeOnRequest(ending)
          const inFlight = [
            cache.append('closing', x),
            cache.get('closing'),
            cache.getMany(['closing', 'other']),
          ]
          for (const one of inFlight) await assert.rejects(one, TIMEOUT)
          proxy.pass()
          assert.equal(
            String(await cache.get('closing')),
            'x',
            'a connection that served and broke is simply made anew',
          )
        }))
    }

    for (const then of ['silence', 'fin', 'rst'] as const) {
      test(`after half a reply, then ${then}, later operations get their own replies`, () =>
        behindProxy(SHORT, async (cache, proxy) => {
          const value = Buffer.alloc(1000, 'v')
          await stored(cache, 'cut:a', value)
          await stored(cache, 'cut:b', Buffer.from('b'))
          for (const length of [1, 23, 24, 30, 500]) {
            proxy.cutReply(length, then)
            await assert.rejects(cache.get('cut:a'), TIMEOUT)
            proxy.pass()
            await recovery(cache)
            assert.deepEqual(await cache.get('cut:a'), value)
            assert.equal(String(await cache.get('cut:b')), 'b')
          }
        }))
    }

    test('bytes nobody asked for are never taken for the next reply', () =>
      behindProxy(PATIENT, async (cache, proxy) => {
        await cache.set('stray', x, 60)
        for (const stray of strays) {
          proxy.inject(stray)
          await sleep(100)
          assert.equal(String(await cache.get('stray')), 'x')
        }
      }))
  })
}

/** Stores a value, however busy the machine is. */
function stored(cache: Cache, key: string, value: Buffer): Promise<true> {
  return eventually(`${key} is stored`, () => cache.set(key, value, 60).catch(() => false))
}

/** Returns the server of an error. */
function serverOf(error: { server?: string }): string | undefined {
  return error.server
}

/** Returns the outcome of what ends without any wait, and otherwise `waits`. */
function atOnce(outcome: Promise<unknown>): Promise<unknown> {
  return Promise.race([outcome, nextTurn('waits')])
}

/** Counts the occurrences of `needle` in the bytes that were sent. */
function count(haystack: Buffer, needle: string): number {
  return haystack.toString('latin1').split(needle).length - 1
}
