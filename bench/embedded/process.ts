/** A contender in a process of its own, as a site of one process has it. */
import { statSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { answer } from '../harness/answer.js'
import { visits, type Visiting } from '../micro/requests.js'
import { type Contender, openContender } from './contenders.js'
import type { ContenderName } from './names.js'
import { turnsOf } from './turns.js'

/** Requests that are made, and then answered, at a time. */
const REQUESTS = 250

const next = (): void => {}

let contender: Contender
let path: string
let make: () => Visiting

answer({
  async open({ name, file }: { name: ContenderName; file: string }) {
    contender = await openContender(name, file)
    path = file
    make = visits({ dimensions: name.endsWith('dimensions') })
  },

  /** Microseconds of the process's CPU for the requests, and until their visits are in SQL. */
  async requests({ count }: { count: number }) {
    let micros = 0
    for (let at = 0; at < count; at += REQUESTS) {
      const batch = Array.from({ length: REQUESTS }, make)
      micros += await cpuOf(async () => {
        for (const { req, res, answer } of batch) {
          contender.middleware(req, res, next)
          answer()
          res.emit('close')
        }
        await turn()
      })
    }
    const behind = await cpuOf(() => contender.finish())
    return { micros, behind, counted: await contender.count() }
  },

  async bring({ count }: { count: number }) {
    await contender.fill(count)
    globalThis.gc?.()
    const began = performance.now()
    let ms = 0
    const { longest } = await turnsOf(async () => {
      await contender.bring()
      ms = performance.now() - began
    })
    return { ms, longest, counted: await contender.count() }
  },

  async removeAll() {
    const began = performance.now()
    const { longest } = await turnsOf(async () => contender.removeAll?.())
    return { ms: performance.now() - began, longest }
  },

  empty: () => contender.empty(),

  async stats({ count, times }: { count: number; times: number }) {
    const from = await contender.fill(count)
    await contender.bring()
    const ms: number[] = []
    for (let i = 0; i < times; i++) {
      const began = performance.now()
      const [views] = await contender.stats(from)
      ms.push(performance.now() - began)
      if (views !== count) throw new Error(`the statistics say ${views} page views of ${count}`)
    }
    return { ms }
  },

  /** Ends it, and says what the file takes then. */
  async close() {
    await contender.close()
    return { bytes: statSync(path).size }
  },
})

async function cpuOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}
