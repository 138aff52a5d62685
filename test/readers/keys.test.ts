/**
 * Figures that a cache holds are those that were asked for: whatever a site was asked before, it
 * answers as one whose cache is empty.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { wrapped } from '../servers/wrapped.js'
import { siteWithPast } from './past.js'
import {
  activity,
  allAsked,
  type Arguments,
  type Ask,
  counters,
  dashboard,
  hits,
  type Reader,
} from './questions.js'

const past = siteWithPast()
after(async () => (await past).close())

/** The arguments by their names; those without one have a number. */
function named(args: Arguments): Map<string, string> {
  const isOptions = (one: unknown): one is object => one instanceof Object && !Array.isArray(one)
  return new Map(
    args
      .flatMap((one, index) => (isOptions(one) ? Object.entries(one) : [[`${index}`, one]]))
      .map(([name, value]) => [String(name), JSON.stringify(value)]),
  )
}

/** The name of the only argument in which two questions differ; `undefined`: there are others. */
function difference(one: Arguments, other: Arguments): string | undefined {
  const [a, b] = [named(one), named(other)]
  if (a.size !== b.size) return undefined
  const names = [...new Set([...a.keys(), ...b.keys()])].filter(
    (name) => a.get(name) !== b.get(name),
  )
  return names.length === 1 ? names[0] : undefined
}

/** The names of a read's arguments, as the refusal of another one lists them. */
async function argumentsOf(ask: Ask, read: string, args: Arguments): Promise<string[]> {
  const last = args.at(-1)
  const options = last instanceof Object && !Array.isArray(last) ? last : undefined
  const others = [...named(options ? args.slice(0, -1) : args).keys()]
  if (!options) return others
  const refused = await ask(read, ...args.slice(0, -1), { ...options, unknown: 1 }).then(
    JSON.stringify,
    String,
  )
  const [, names] = /(?:takes|there are) ([\w, ]+)/.exec(refused) ?? []
  assert(names, `${read} lists its arguments: ${refused}`)
  return [...others, ...names.split(', ')]
}

function law(what: string, reader: Reader): void {
  const { open, options, questions } = reader
  const answers = new Map<string, unknown>()

  /** The answer of a new object, whose cache is empty. */
  async function wanted(own: object, read: string, args: Arguments): Promise<unknown> {
    const site = await past
    const question = `${read}(${JSON.stringify(args)}) with ${JSON.stringify(own)}`
    const answer = answers.get(question) ?? (await open(site, site.cache(), own)(read, ...args))
    answers.set(question, answer)
    return answer
  }

  if (Object.keys(questions).length > 0) {
    test(`${what}: each argument is varied alone, and makes a difference`, async () => {
      const site = await past
      const ask = open(site, site.cache())
      for (const [read, all] of Object.entries(questions)) {
        const varied = new Set<string>()
        const known = new Set<string>()
        for (const [index, one] of all.entries()) {
          for (const name of await argumentsOf(ask, read, one)) known.add(name)
          for (const other of all.slice(index + 1)) {
            const name = difference(one, other)
            if (name === undefined) continue
            const [a, b] = [await wanted({}, read, one), await wanted({}, read, other)]
            if (!isDeepStrictEqual(a, b)) varied.add(name)
          }
        }
        assert.deepEqual([...varied].sort(), [...known].sort(), read)
      }
    })
  }

  test(`${what}: whatever one cache was asked, it answers as an empty one does`, async () => {
    const site = await past
    const cache = site.cache()
    const objects = [{}, ...options].map((own) => ({ own, ask: open(site, cache, own) }))
    for (const [read, args] of allAsked(reader)) {
      for (const { own, ask } of objects) {
        const question = `${read}(${JSON.stringify(args)}) with ${JSON.stringify(own)}`
        assert.deepEqual(await ask(read, ...args), await wanted(own, read, args), question)
      }
    }
  })
}

law('counters', counters)
law('activity', activity)
law('hits', hits)
law('dashboard', dashboard)

/**
 * Most statements of an answer that nobody has read yet, and of the same one right afterwards.
 * Counts of items are exact, and the history of one is asked for each time.
 */
const STATEMENTS: Readonly<Record<string, readonly [first: number, again: number]>> = {
  'activity history': [8, 0],
  'activity top': [5, 0],
  'activity certificate': [16, 0],
  'hits count': [2, 2],
  'hits counts': [1, 1],
  'hits top': [2, 1],
  'hits history': [4, 4],
  'dashboard /figures.json': [54, 0],
  'dashboard /times.json': [2, 0],
  'dashboard /hits.json': [0, 0],
  'dashboard /item.json': [10, 8],
  'dashboard /history.json': [9, 4],
  'dashboard /history.csv': [4, 4],
  'dashboard /top.json': [5, 0],
  'dashboard /top.csv': [0, 0],
  'dashboard /shown.json': [8, 8],
  'dashboard /shown.csv': [8, 8],
}

test('no read asks SQL more often than it needs to, and again only where it must', async () => {
  const site = await past
  let asked = 0
  const database = wrapped(site.database, {
    query: (sql, values) => {
      asked++
      return site.database.query(sql, values)
    },
  })
  const found: Record<string, [first: number, again: number]> = {}
  for (const [what, { open, questions }] of Object.entries({ activity, hits, dashboard })) {
    const ask = open(site, site.cache(), { database })
    for (const [read, some] of Object.entries(questions)) {
      // The first one of an object enters its name, and views that are recorded its zone.
      await ask(read, ...some[0]!)
      await site.database.query("UPDATE wide_cache_names SET time_zone = 'UTC'")
      const most: [number, number] = [0, 0]
      for (const args of some.slice(1)) {
        for (const index of most.keys()) {
          const before = asked
          await ask(read, ...args)
          most[index] = Math.max(most[index]!, asked - before)
        }
      }
      found[`${what} ${read}`] = most
    }
  }
  assert.deepEqual(found, STATEMENTS)
})
