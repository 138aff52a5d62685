/** A process whose callers take numbers, one after the other each, and note every one of them. */
import { Sequence } from '../../src/sequence/sequence.js'

export interface Task {
  readonly cache: string
  readonly database: string
  readonly block: number
  readonly numbers: number
  readonly callers: number
  /** No number is as great. */
  readonly bound: number
  /** Numbers between two words of how it gets on. */
  readonly tellsEvery: number
  /**
   * Whether each word has the bits: a process that is killed has told of all but the last of its
   * numbers.
   */
  readonly tellsAll: boolean
}

/** Numbers that have been taken; at the end, or always, a bit for each number. */
export interface Taken {
  readonly taken: number
  readonly twice: number
  /** Numbers that were not greater than their caller's one before. */
  readonly shrunk: number
  readonly rejected: readonly string[]
  readonly bits?: Uint8Array
  readonly ended?: boolean
}

const MAX_REJECTED = 100

process.once('message', async (message) => {
  const { cache, database, block, numbers, callers, bound, tellsEvery, tellsAll } = message as Task
  const sequence = new Sequence({ name: 'test', cache, database, block })
  const bits = new Uint8Array(Math.ceil(bound / 8))
  const state = { taken: 0, twice: 0, shrunk: 0, rejected: [] as string[] }
  let asked = 0
  const caller = async (): Promise<void> => {
    let last = 0
    while (asked < numbers && state.rejected.length < MAX_REJECTED) {
      asked++
      try {
        const number = await sequence.next()
        if (number <= last) state.shrunk++
        last = number
        const bit = 1 << (number & 7)
        if ((bits[number >> 3]! & bit) !== 0) state.twice++
        bits[number >> 3]! |= bit
        if (++state.taken % tellsEvery === 0) {
          process.send!((tellsAll ? { ...state, bits } : state) satisfies Taken)
        }
      } catch (error) {
        asked--
        state.rejected.push(String(error))
      }
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  await sequence.close()
  process.send!({ ...state, bits, ended: true } satisfies Taken, () => process.disconnect())
})
