/**
 * Adapters with planted faults: each breaks one rule of its port, and a suite must see it. Others
 * are odd and break none: a suite must let them pass.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { wrapped } from '../../test/servers/wrapped.js'
import type { RegisterTest } from './runner.js'

/**
 * A fault, or an oddity: the test that must fail, or pass, and the methods of an honest adapter
 * that it replaces.
 */
export type Fault<Port> = readonly [seenBy: string, plant: (honest: Port) => Partial<Port>]

/** Registers the suite under the name `planted`, for the adapters that `wrap` makes. */
type Suite<Port> = (register: RegisterTest, wrap: (honest: Port) => Port) => void

type Bodies = ReadonlyMap<string, () => Promise<void>>

interface Extras<Port> {
  readonly oddities?: Readonly<Record<string, Fault<Port>>>
  readonly concurrency?: number
}

const IS_LATE: Readonly<Record<string, (call: number) => boolean>> = {
  'the first': (call) => call === 0,
  'every second': (call) => call % 2 === 0,
  'every other second': (call) => call % 2 === 1,
}

/**
 * Oddities of each of these tests, whose calls follow each other: some calls begin late.
 *
 * @param lateMs longer than what follows a call takes, so that a suite must have waited for it
 */
export function lateCalls<Port>(
  sentences: readonly string[],
  lateMs: number,
  make: (late: <T>(call: () => Promise<T>) => Promise<T>) => Fault<Port>[1],
): Readonly<Record<string, Fault<Port>>> {
  const oddities = sentences.flatMap((sentence) =>
    Object.entries(IS_LATE).map(([which, isLate]): [string, Fault<Port>] => {
      const plant: Fault<Port>[1] = (honest) => {
        let calls = 0
        const late = async <T>(call: () => Promise<T>): Promise<T> => {
          if (isLate(calls++)) await delay(lateMs)
          return call()
        }
        return make(late)(honest)
      }
      return [`${which} call is late: ${sentence}`, [sentence, plant]]
    }),
  )
  return Object.fromEntries(oddities)
}

const PREFIX = 'planted: '

function testsOf<Port extends object>(
  suite: Suite<Port>,
  plant: (honest: Port) => Partial<Port>,
): Bodies {
  const bodies = new Map<string, () => Promise<void>>()
  suite(
    (name, body) => void bodies.set(name.slice(PREFIX.length), body),
    (honest) => wrapped(honest, plant(honest)),
  )
  return bodies
}

function bodyOf(bodies: Bodies, sentence: string): () => Promise<void> {
  return bodies.get(sentence) ?? assert.fail(`the suite has no test "${sentence}"`)
}

/**
 * Registers three kinds of tests. The named test of the suite fails for each fault. It passes for
 * a wrapper that replaces nothing, and for each oddity.
 *
 * @param concurrency tests that run at once, since some of them only wait
 */
export function testPlanted<Port extends object>(
  name: string,
  suite: Suite<Port>,
  faults: Readonly<Record<string, Fault<Port>>>,
  { oddities = {}, concurrency = 1 }: Extras<Port> = {},
): void {
  describe(name, { concurrency }, () => {
    const honest = testsOf(suite, () => ({}))
    for (const sentence of new Set(Object.values(faults).map(([seenBy]) => seenBy))) {
      test(`without a fault passes: ${sentence}`, () => bodyOf(honest, sentence)())
    }
    for (const [fault, [seenBy, plant]] of Object.entries(faults)) {
      test(`with a fault is seen: ${fault}`, async () => {
        const run = bodyOf(testsOf(suite, plant), seenBy)
        await assert.rejects(run, (error) => !showsNothing(error), `"${seenBy}" passes`)
      })
    }
    for (const [oddity, [sentence, plant]] of Object.entries(oddities)) {
      test(`with an oddity passes: ${oddity}`, () => bodyOf(testsOf(suite, plant), sentence)())
    }
  })
}

/** These show nothing: a plant that is written wrongly, and a server that a busy machine delays. */
function showsNothing(error: unknown): boolean {
  return (
    error instanceof ReferenceError ||
    (error instanceof TypeError && !('code' in error)) ||
    (error instanceof Error && 'code' in error && error.code === 'ETIMEDOUT')
  )
}
