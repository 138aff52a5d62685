/** The account of the rows that a site's writers have recorded, by one of its tables. */
import { mustBeThere } from './allowed-loss.js'
import type { Disturbances } from './disturbances.js'
import type { Tally } from './tally.js'
import type { Truth } from './truth.js'

/** One life of a writer. */
export interface WriterLife extends Truth {
  readonly name: string
  /** It closed in order and brought all to SQL: its rows are known exactly. */
  readonly exact: boolean
  /** Time at which it was killed, if it was. */
  readonly killedAt: number
  /**
   * Returns when fresh figures of its site had first gone past a moment, both in milliseconds since
   * the Unix epoch; `Infinity`: never.
   */
  readonly figuresPassedAt: (moment: number) => number
  /** What it has placed ends with it. */
  readonly hasPrivateCache: boolean
  /** The targets of faults that it meets, beside those of the cache. */
  readonly reliesOn: readonly string[]
}

/** Counts of rows. Exact lives first, then the others: those that were killed. */
export interface Account {
  /** Recorded by exact lives. */
  recorded: number
  /** Missing of these: refused by SQL, or in a frame with such a row. */
  refused: number
  /** Missing of these: recorded after `close()` was called, and so dropped. */
  afterClose: number
  /** Missing of these without any reason. */
  unexplained: number
  /** Recorded by the others, and how many of that have come. */
  othersRecorded: number
  othersCame: number
  /** Missing of these although nothing excuses it, and where. */
  inexcusable: number
  readonly gaps: string[]
}

/** A life by its reports instead of its rows. All of a life that closed were answered before. */
export function ofReports(life: WriterLife): WriterLife {
  const { reports } = life
  return { ...life, times: reports, poison: new Set(), afterClose: reports.length }
}

/** Accounts for each row. `poisons`: SQL refuses some rows of this table. */
export function account(
  lives: readonly WriterLife[],
  tally: Pick<Tally, 'has'>,
  poisons: boolean,
  disturbances: Disturbances,
): Account {
  const sum: Account = {
    recorded: 0,
    refused: 0,
    afterClose: 0,
    unexplained: 0,
    othersRecorded: 0,
    othersCame: 0,
    inexcusable: 0,
    gaps: [],
  }
  for (const life of lives) {
    const rows = life.times.length
    const missing = gaps(rows, (number) => tally.has(life.name, number))
    const absent = missing.reduce((total, { length }) => total + length, 0)
    if (life.exact) sum.recorded += rows
    else {
      sum.othersRecorded += rows
      sum.othersCame += rows - absent
    }
    for (const gap of missing) {
      const early = gap.filter((number) => number < life.afterClose)
      // A frame is kept or refused as a whole, and its rows follow one another.
      const refused = poisons && early.some((number) => life.poison.has(number))
      if (life.exact) {
        sum.afterClose += gap.length - early.length
        sum[refused ? 'refused' : 'unexplained'] += early.length
      } else if (!refused) {
        const owing = early.filter((number) => mustBeThere(life.times[number]!, life, disturbances))
        if (owing.length === 0) continue
        sum.inexcusable += owing.length
        const seconds = (life.killedAt - life.times[owing.at(-1)!]!) / 1000
        sum.gaps.push(
          `${life.name} ${owing[0]} to ${owing.at(-1)}, ${seconds.toFixed(1)} s before its end`,
        )
      }
    }
  }
  return sum
}

/** The numbers below `end` that are not there, in runs without a hole. */
function gaps(end: number, isThere: (number: number) => boolean): number[][] {
  const runs: number[][] = []
  for (let number = 0; number < end; number++) {
    if (isThere(number)) continue
    const last = runs.at(-1)
    if (last?.at(-1) === number - 1) last.push(number)
    else runs.push([number])
  }
  return runs
}

/** The same by counts alone, where single rows cannot be told apart. */
export function accountByCounts(
  lives: readonly WriterLife[],
  counts: ReadonlyMap<string, number>,
): Account {
  const sum: Account = {
    recorded: 0,
    refused: 0,
    afterClose: 0,
    unexplained: 0,
    othersRecorded: 0,
    othersCame: 0,
    inexcusable: 0,
    gaps: [],
  }
  for (const { name, times, afterClose, exact } of lives) {
    const came = counts.get(name) ?? 0
    const absent = times.length - came
    if (exact) {
      sum.recorded += times.length
      const dropped = Math.max(0, Math.min(absent, times.length - afterClose))
      sum.afterClose += dropped
      sum.unexplained += absent - dropped
    } else {
      sum.othersRecorded += times.length
      sum.othersCame += came
    }
  }
  return sum
}
