/**
 * Figures that a cache holds are those that were asked for: whatever a site was asked before, it
 * answers as one whose cache is empty.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { siteWithPast } from './past.js'
import {
  activity,
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

function law(what: string, { open, options, plain, questions }: Reader): void {
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
    const asked: (readonly [string, Arguments])[] = [
      ...plain.map((read) => [read, []] as const),
      ...Object.entries(questions).flatMap(([read, all]) =>
        all.map((args) => [read, args] as const),
      ),
    ]
    for (const [read, args] of asked) {
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
