/**
 * After `close()` every class does the same. What can be closed is found among the exports, and its
 * methods on its prototype, so that a new one is not forgotten.
 */
import assert from 'node:assert/strict'
import { readdirSync, readlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { eventually } from '../src/support/eventually.fixture.js'
import { keptLog } from '../src/support/kept-log.fixture.js'
import {
  type Closable,
  methodsOf,
  type Opener,
  OPENERS,
  OTHERS,
  PORTS,
  wideCache,
} from './closable.js'

const logger = keptLog()

/** They never throw, whatever happens. */
const NEVER_REFUSED = ['record', 'append', 'middleware', 'health']
/** They are not asynchronous, and throw. */
const THROW = ['router', 'dashboard', 'instrument', 'collectBy']

/** Files in `folder` that this process has open. */
function openFiles(folder: string): number {
  const linkOf = (descriptor: string): string => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`)
    } catch {
      // Closed since it was listed.
      return ''
    }
  }
  return readdirSync('/proc/self/fd').filter((descriptor) => linkOf(descriptor).startsWith(folder))
    .length
}

/** Has each method refused, all in one turn. Only those that are not asynchronous may throw. */
async function allRefused(object: Closable, { what, args }: Opener): Promise<void> {
  const refusal = (method: string) => (error: unknown) => {
    assert(error instanceof wideCache.ClosedError, `${method}: ${String(error)}`)
    assert.deepEqual([error.name, error.code], ['ClosedError', 'CLOSED'])
    assert.match(
      error.message,
      new RegExp(
        `^wide-cache: ${what} has been closed by close\\(\\)\\. Call close\\(\\) after the ` +
          `last use, or create a new ${what.split(' ')[0]}$`,
      ),
    )
    return true
  }
  const refused = methodsOf(object).filter(
    (method) => method !== 'close' && !NEVER_REFUSED.includes(method),
  )
  assert(refused.includes('migrate'), `the methods are found: ${refused.join(' ')}`)
  await Promise.all(
    refused.map((method) => {
      const call = () => object[method]!(...(args[method] ?? [])) as Promise<unknown>
      return THROW.includes(method)
        ? assert.throws(call, refusal(method))
        : assert.rejects(call(), refusal(method))
    }),
  )
  // Before all other errors, those of wrong arguments too.
  await Promise.all(
    refused.map((method) => assert.rejects(async () => object[method]!(), refusal(method))),
  )
  for (const method of NEVER_REFUSED) object[method]?.(...(args[method] ?? []))
}

describe('after close()', () => {
  test('the exports that can be closed are all here', () => {
    const closable: string[] = []
    for (const [key, value] of Object.entries(wideCache)) {
      if (typeof value !== 'function' || key in PORTS || OTHERS.includes(key)) continue
      const prototype = value.prototype as object | undefined
      const isClass = /^[A-Z]/.test(key)
      if (!isClass || (prototype && 'close' in prototype)) closable.push(key)
    }
    assert.deepEqual(closable.sort(), Object.keys(OPENERS).sort())
  })

  for (const [key, opener] of Object.entries(OPENERS)) {
    test(`${key}: each method rejects after close(), and borrowed ports stay open`, async () => {
      const [database, cache] = [wideCache.sqlite(':memory:'), wideCache.memory()]
      const object = opener.make({ database, cache, logger }) as Closable
      await object['migrate']!()
      const closing = object.close()
      await allRefused(object, opener)
      const report = await closing
      await allRefused(object, opener)
      assert.equal(await object.close(), report, 'idempotent, with the same report')

      assert.deepEqual((await database.query('SELECT 1 AS one')).rows, [{ one: 1 }])
      await cache.set('here', Buffer.from('still'), 60)
      assert.equal((await cache.get('here'))?.toString(), 'still')
      await (opener.make({ database, cache, logger }) as Closable).close()
      await Promise.all([database.close(), cache.close()])
    })

    test(`${key}: the same with a database of its own, which is closed, and unused`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'wide-cache-closed-'))
      const ports = { database: `sqlite:${join(folder, 'own.db')}`, cache: 'memory:', logger }
      const [unused, used] = [opener.make(ports) as Closable, opener.make(ports) as Closable]
      await used['migrate']!()
      assert(openFiles(folder) > 0)
      await Promise.all([unused.close(), used.close()])
      await eventually('all files are closed', () => openFiles(folder) === 0)
      assert.equal(openFiles(folder), 0)
      await allRefused(unused, opener)
      await allRefused(used, opener)
      await rm(folder, { recursive: true })
    })

    test(
      `${key}: calls under way end as if it went on, or with the same error`,
      { timeout: 20_000 },
      async () => {
        const folder = await mkdtemp(join(tmpdir(), 'wide-cache-closed-'))
        const object = opener.make({
          database: `sqlite:${join(folder, 'own.db')}`,
          cache: 'memory:',
          logger,
        }) as Closable
        const methods = methodsOf(object).filter((method) => method !== 'close')
        const calls = methods.map(async (method) => object[method]!(...(opener.args[method] ?? [])))
        const closed = object.close()
        const ends = await Promise.allSettled(calls)
        const failed = ends.flatMap((end) =>
          end.status === 'rejected' && !(end.reason instanceof wideCache.ClosedError)
            ? [end.reason as unknown]
            : [],
        )
        assert.deepEqual(failed, [])
        await closed
        await allRefused(object, opener)
        await rm(folder, { recursive: true })
      },
    )
  }
})
