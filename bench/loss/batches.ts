/** Settings of the loss experiment, and which of them run at the same time. */
import type { Bench } from '../harness/part.js'

export interface Contender {
  readonly peer: string
  readonly label: string
}

export const GET_AND_SET: Contender = { peer: 'get-and-set', label: 'get and set' }
export const APPEND: Contender = { peer: 'append-per-visit', label: 'one append per visit' }
export const WIDE_CACHE: Contender = { peer: 'wide-cache', label: 'wide-cache' }
export const CONTENDERS = [GET_AND_SET, APPEND, WIDE_CACHE] as const

/** A contender at a rate and width; several copies of it have grids of their own. */
export interface Setting {
  readonly contender: Contender
  readonly rate: number
  readonly width: number
  readonly copies: number
  readonly slow: boolean
  /**
   * Collectors run on their schedule meanwhile, as in production; otherwise what is left is
   * collected at the end.
   */
  readonly collect: boolean
}

/** Settings that run at the same time. */
export interface Batch {
  readonly title: string
  readonly seconds: number
  readonly settings: readonly Setting[]
}

/** The width of the first design. */
export const FIRST_WIDTH = 15

const ALONE = { width: FIRST_WIDTH, copies: 1, slow: false, collect: false }

export function batches(bench: Bench): Batch[] {
  const widths = bench.setting<readonly number[]>('widths', [1, 15, 64], [1, 2, 4, 8, 15, 32, 64])
  const seconds = {
    35: bench.setting('seconds at 35/s (all widths at once)', 4, 36, 195),
    350: bench.setting('seconds at 350/s (every other width at once)', 2, 8, 30),
    2000: bench.setting('seconds at 2,000/s (one width at a time)', 1, 3, 15),
  }
  const copies = bench.setting('copies of get and set at 35/s', 2, 4)
  const fast = bench.setting('seconds on a fast cache (all rates at once)', 1, 5, 60)
  const long = bench.setting('seconds of wide-cache alone at 2,000/s', 1, 4, 520)

  const slow = (rate: number, widths: readonly number[], copies = 1): Setting[] =>
    widths.flatMap((width) =>
      CONTENDERS.map((contender) => ({
        ...ALONE,
        contender,
        rate,
        width,
        copies: contender === GET_AND_SET ? copies : 1,
        slow: true,
      })),
    )
  const direct = (rate: number): Setting[] =>
    CONTENDERS.map((contender) => ({ ...ALONE, contender, rate }))
  const every = (other: number): number[] => widths.filter((_, at) => at % 2 === other)
  return [
    { title: '35/s', seconds: seconds[35], settings: slow(35, widths, copies) },
    ...[every(0), every(1)].map((half) => ({
      title: `350/s, widths ${half.join(', ')}`,
      seconds: seconds[350],
      settings: slow(350, half),
    })),
    ...widths.map((width) => ({
      title: `2,000/s, width ${width}`,
      seconds: seconds[2000],
      settings: slow(2000, [width]),
    })),
    { title: 'on a fast cache', seconds: fast, settings: [35, 350, 2000].flatMap(direct) },
    {
      title: 'wide-cache alone',
      seconds: long,
      settings: [{ ...ALONE, contender: WIDE_CACHE, rate: 2000, collect: true }],
    },
  ]
}
