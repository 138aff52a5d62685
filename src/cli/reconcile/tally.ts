/** Gives each line of a log one reason, and adds up what counts by day and page. */
import { pageOf, pageOfTarget } from '../../activity/page.js'
import { storedValue } from '../../activity/sums.js'
import { Judge } from '../../page-views/judge.js'
import type { Verdict } from '../../page-views/page-view.js'
import type { Calendar, PeriodRange } from '../../support/calendar.js'
import { HOUR_MS } from '../../support/clock.js'
import { type Logged, LogReader } from './logged.js'

/** Why a line counts, or does not. */
export const REASONS = {
  page: 'a page view of a person',
  bot: 'a page view of a bot',
  method: 'another method than GET',
  redirect: 'a redirect',
  error: 'an error',
  content: 'no content, or a range of it',
  type: 'no page, by its type',
  part: 'a part of a page, or a frame in it',
  prefetch: 'fetched in advance',
  never: 'a path that was never counted',
  server: 'answered by the web server, not by Node',
  host: 'another host',
  outside: 'before --from, or after --to',
  unread: 'cannot be read',
} as const

export type Reason = keyof typeof REASONS

/** What the log has of a day. */
export interface LoggedDay {
  readonly start: number
  readonly end: number
  /** Views of people by pages, as they are stored. */
  readonly pages: Map<string, number>
  bots: number
  /** The hours of the day that have a line; bit 0 is the first. */
  hours: number
}

/** What a tally goes by. */
export interface TallyRules {
  readonly calendar: Calendar
  /** Days whose lines count. */
  readonly range: PeriodRange
  /** `undefined`: lines of all hosts count. */
  readonly host: string | undefined
  /**
   * Whether a page has ever been counted, or may have been on that day. A combined log does not
   * say what is a page.
   */
  readonly mayCount: (day: number, page: string, isCombined: boolean) => boolean
}

const OF_VERDICT = {
  method: 'method',
  content: 'content',
  type: 'type',
  part: 'part',
  'in advance': 'prefetch',
} as const satisfies Partial<Record<Verdict, Reason>>

/** The lines of a log, added up. */
export class Tally {
  readonly lines = Object.fromEntries(Object.keys(REASONS).map((reason) => [reason, 0])) as Record<
    Reason,
    number
  >
  readonly days = new Map<number, LoggedDay>()
  /** Times of the oldest and the newest line. */
  first = Infinity
  last = -Infinity
  /** Whether a line is of a combined log. */
  hasCombined = false
  readonly #rules: TallyRules
  readonly #reader = new LogReader()
  readonly #judge = new Judge()
  /** The day of the last line. */
  #day: (LoggedDay & { readonly number: number }) | undefined

  constructor(rules: TallyRules) {
    this.#rules = rules
  }

  /** @param line `undefined`: it was too long to be read */
  add(line: string | undefined): void {
    const logged = line === undefined ? undefined : this.#reader.read(line)
    this.lines[logged ? this.#reasonOf(logged) : 'unread']++
  }

  #reasonOf({ time, target, exchange }: Logged): Reason {
    if (time < this.first) this.first = time
    if (time > this.last) this.last = time
    if (exchange.isCombined) this.hasCombined = true
    const day = this.#dayOf(time)
    day.hours |= 1 << Math.floor((time - day.start) / HOUR_MS)
    // Whatever is not counted, since a 304 is judged by what came before.
    if (exchange.status === 304) exchange.isNoPage = this.#judge.isNoPage(target)
    const verdict = this.#judge.verdictOf(exchange, target)
    const { range, host, mayCount } = this.#rules
    if (host !== undefined && exchange.host !== host) return 'host'
    if (day.number < range.from || day.number >= range.to) return 'outside'
    if (verdict === 'status') {
      return exchange.status >= 300 && exchange.status < 400 ? 'redirect' : 'error'
    }
    if (verdict !== 'page') return OF_VERDICT[verdict]
    if (!exchange.reachedNode) return 'server'
    const page = storedValue(pageOf(pageOfTarget(target)))
    if (!mayCount(day.number, page, exchange.isCombined)) return 'never'
    if (exchange.isBot) {
      day.bots++
      return 'bot'
    }
    const views = day.pages.get(page)
    if (views !== undefined) day.pages.set(page, views + 1)
    // A copy: a part of a line would keep all of it.
    else day.pages.set(Buffer.from(page).toString(), 1)
    return 'page'
  }

  #dayOf(time: number): LoggedDay & { readonly number: number } {
    if (this.#day && time >= this.#day.start && time < this.#day.end) return this.#day
    const { calendar } = this.#rules
    const number = calendar.dayOf(time)
    const known = this.days.get(number)
    const day = known ?? {
      start: calendar.startOfDay(number),
      end: calendar.startOfDay(number + 1),
      pages: new Map<string, number>(),
      bots: 0,
      hours: 0,
    }
    if (!known) this.days.set(number, day)
    return (this.#day = Object.assign(day, { number }))
  }
}
