/**
 * What a reader sees of a site while faults happen. Promises 6 and 8: at every look no more is
 * counted than was recorded, all that was recorded up to `asOf` is counted or in `upper`, or
 * `stale` says that figures are old; and no field of a ledger falls but two.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Database, LedgerReport } from '../../src/index.js'
import type { WriterLife } from './account.js'
import type { Disturbances } from './disturbances.js'
import { type Check, type CopiedRows, exactly } from './checks.js'
import { type Due, dueRows, hasWrongTime, STEPS } from './due.js'
import { firstIndex } from './first-index.js'
import { BOOKS, ledgersOf, type Uses, type UsesOptions, WINDOW_SECONDS } from './uses.js'

const LOOK_EVERY_MS = 500

/** Looks at fresh figures for which a run goes on, once all has healed, and the longest time. */
const FRESH_LOOKS = 40
const FRESH_WITHIN_MS = 300_000

/** Fields of a ledger that may fall. */
const MAY_FALL: readonly (keyof LedgerReport)[] = ['outstanding', 'owed']

/** A writer's reading of the database's clock may be so far behind: an answer may be delayed. */
const CLOCK_MS = 3_000

/** And so far ahead, by a round trip: a row noted just before the end of a look is of after it. */
const ROUND_TRIP_MS = 1_000

/** Looks at which figures of a time in which a host's clock was wrong may be shown, not stale. */
const STEPPED_LOOKS = 40

interface Look {
  readonly at: number
  /** The looks before the last one at figures that were not stale: these may be of that time. */
  readonly untilFresh: number
  /** The end of the window, in milliseconds since the Unix epoch. */
  readonly end: number
  readonly lower: number
  readonly upper: number
  readonly stale: boolean
}

/** Looks at one site until it is stopped. */
export class Looks {
  readonly #database: Database
  readonly #uses: Uses
  readonly #names: Pick<UsesOptions, 'site' | 'apart'>
  readonly #looks: Look[] = []
  /** The fresh looks of them that went further than all before. */
  readonly #passed: Look[] = []
  readonly #ledgers = new Map<string, LedgerReport>()
  readonly #fallen: string[] = []
  #untilFresh = 0
  #freshLooks = 0
  #stopped = false
  readonly #done: Promise<unknown>

  constructor(database: Database, uses: Uses, names: Pick<UsesOptions, 'site' | 'apart'>) {
    this.#database = database
    this.#uses = uses
    this.#names = names
    this.#done = Promise.all([this.#lookOn(() => this.#stats()), this.#lookOn(() => this.#fall())])
  }

  /**
   * Goes on, once all has healed, until figures have been fresh at enough looks: those at stale
   * figures prove little.
   */
  async untilFresh(): Promise<void> {
    const healedAt = Date.now()
    const deadline = performance.now() + FRESH_WITHIN_MS
    const fresh = () => this.#looks.filter(({ at, stale }) => at >= healedAt && !stale).length
    while (fresh() < FRESH_LOOKS && performance.now() < deadline) await delay(LOOK_EVERY_MS)
    this.#freshLooks = Math.min(fresh(), FRESH_LOOKS)
  }

  /** Returns when fresh figures had first gone past a moment; `Infinity`: never. */
  passedAt(moment: number): number {
    const { length } = this.#passed
    const first = firstIndex(length, (index) => this.#passed[index]!.end <= moment + CLOCK_MS)
    return this.#passed[first]?.at ?? Infinity
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }

  /** `copied`: the rows that the site began with. */
  checks(
    lives: readonly WriterLife[],
    disturbances: Disturbances,
    copied: Pick<CopiedRows, 'activity' | 'at'> = { activity: 0, at: 0 },
  ): Check[] {
    const recorded = new Recorded(lives, disturbances, copied)
    const hosts = lives.flatMap(({ reliesOn }) => reliesOn)
    const isStepped = ({ at, untilFresh }: Look): boolean =>
      disturbances
        .of('sql', this.#looks[untilFresh - STEPPED_LOOKS]?.at ?? 0, at, [...new Set(hosts)])
        .some(({ type }) => STEPS.includes(type))
    const wrong = (is: (look: Look) => boolean): [what: string, number: number] => {
      const [first, ...others] = this.#looks.filter((look) => is(look))
      if (!first) return ['', 0]
      const figures = { ...first, least: recorded.least(first), most: recorded.most(first) }
      return [`: ${JSON.stringify(figures)}`, others.length + 1]
    }
    // What is recorded while the clock is behind is of a time before the look's end.
    const more = wrong((look) => look.lower > recorded.most(look) && !isStepped(look))
    const fewer = wrong((look) => !look.stale && look.upper < recorded.least(look))
    // Figures that are stale are as of their own time, too.
    const ahead = wrong((look) => look.end > look.at + CLOCK_MS && !isStepped(look))
    const crossed = wrong(({ lower, upper }) => lower > upper)
    return [
      exactly(`activity: fresh looks once all has healed`, FRESH_LOOKS, this.#freshLooks),
      exactly(`activity: looks as of a time to come${ahead[0]}`, 0, ahead[1]),
      exactly(`activity: looks whose lower bound is the greater one${crossed[0]}`, 0, crossed[1]),
      exactly(`activity: looks that count more than was recorded${more[0]}`, 0, more[1]),
      exactly(`activity: looks that miss what was recorded${fewer[0]}`, 0, fewer[1]),
      exactly(`ledger(): fields that fell (${this.#fallen.join(', ')})`, 0, this.#fallen.length),
    ]
  }

  get figures(): { looks: number; stale: number } {
    const stale = this.#looks.filter((look) => look.stale).length
    return { looks: this.#looks.length, stale }
  }

  /** The database may be away: then there is nothing to look at. */
  async #lookOn(look: () => Promise<void>): Promise<void> {
    while (!this.#stopped) {
      await look().catch(() => undefined)
      await delay(LOOK_EVERY_MS)
    }
  }

  async #stats(): Promise<void> {
    const { asOf, lower, upper, stale } = await this.#uses.activity.stats()
    const end = Math.floor(Date.parse(asOf) / 1000) * 1000
    const at = Date.now()
    if (!stale) this.#untilFresh = this.#looks.length
    const look = { at, untilFresh: this.#untilFresh, end, lower, upper, stale }
    this.#looks.push(look)
    const isOfATimeToCome = end > at + CLOCK_MS
    if (!stale && !isOfATimeToCome && end > (this.#passed.at(-1)?.end ?? 0)) this.#passed.push(look)
  }

  async #fall(): Promise<void> {
    const ledgers = await ledgersOf(this.#database, this.#uses, this.#names)
    for (const book of BOOKS) {
      const [before, now] = [this.#ledgers.get(book), ledgers[book]]
      this.#ledgers.set(book, now)
      for (const field of Object.keys(now) as (keyof LedgerReport)[]) {
        if (before && now[field] < before[field] && !MAY_FALL.includes(field)) {
          this.#fallen.push(`${book} ${field} from ${before[field]} to ${now[field]}`)
        }
      }
    }
  }
}

/** How many rows a look may count, and how many it must. */
class Recorded {
  readonly #all: Float64Array
  /** Of them, those whose time in SQL is of a wrong clock. */
  readonly #wrong: readonly number[]
  readonly #due: readonly Due[]
  readonly #longestExcuseMs: number
  readonly #copied: Pick<CopiedRows, 'activity' | 'at'>

  constructor(
    lives: readonly WriterLife[],
    disturbances: Disturbances,
    copied: Pick<CopiedRows, 'activity' | 'at'>,
  ) {
    this.#copied = copied
    this.#all = Float64Array.from(lives.flatMap(({ times }) => times)).sort()
    this.#wrong = lives
      .flatMap((life) => life.times.filter((at) => hasWrongTime(at, life, disturbances)))
      .sort((a, b) => a - b)
    this.#due = dueRows(lives, disturbances)
    let longest = 0
    for (const { at, from } of this.#due) longest = Math.max(longest, from - at)
    this.#longestExcuseMs = longest
  }

  most({ at, end }: Look): number {
    const before = (times: ArrayLike<number>, moment: number): number =>
      firstIndex(times.length, (index) => times[index]! < moment)
    // What was recorded while the clock was behind is of a time before the look's end, for good.
    const wrong = before(this.#wrong, at) - before(this.#wrong, end + CLOCK_MS)
    return this.#copied.activity + before(this.#all, end + CLOCK_MS) + Math.max(0, wrong)
  }

  least({ at, end: asOf }: Look): number {
    const end = asOf - ROUND_TRIP_MS
    // By a clock that is ahead by days, all rows are older than the window.
    if (end - WINDOW_SECONDS * 1000 > at) return 0
    const old = Math.min(end, at - this.#longestExcuseMs)
    const first = firstIndex(this.#due.length, (index) => this.#due[index]!.at < old)
    // Figures of an earlier moment need not have all that was copied.
    let least = first + (end >= this.#copied.at ? this.#copied.activity : 0)
    for (let next = first; next < this.#due.length && this.#due[next]!.at < end; next++) {
      if (this.#due[next]!.from <= at) least++
    }
    return least
  }
}
