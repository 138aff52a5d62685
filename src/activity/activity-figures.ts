import { hash } from 'node:crypto'
import { withToday } from '../dashboard/open-day.js'
import type {
  ActivityPeriod,
  LiveActivity,
  ValuePeriod,
  ValueViews,
} from '../dashboard/site-figures.js'
import type { Dated, Note, Overview, Range } from '../dashboard/source.js'
import type { Queryable } from '../database/database.js'
import { type Measure, measureName } from '../page-views/measures.js'
import type { OwnCalendar } from '../page-views/own-calendar.js'
import { dayText, type LongPeriod, summedBy } from '../support/calendar-days.js'
import { oneOf } from '../support/options.js'
import { shared } from '../support/shared.js'
import type { ReadContext } from '../wide-cache/contexts.js'
import type { Engine } from '../wide-cache/engine.js'
import { RESERVED, ownMeasureOf } from './dimensions/own-measure.js'
import { type ActivityCertificate, readCertificate } from './certificate.js'
import { readFirstDay } from './first-day.js'
import { readHourlyViews, readTop } from './history.js'
import { readActivityHistory } from './activity-history.js'
import { readActivityTop } from './activity-top.js'
import { liveView, readLive } from './live.js'
import type { ActivitySettings } from './options.js'
import {
  dayNumber,
  type HistoryQuery,
  checkedHistory,
  keptFrom,
  type TopQuery,
  checkedTop,
  type ValueHistoryQuery,
  checkedValueHistory,
  wholeDays,
} from './ranges.js'
import { type ActivityStats, readStats } from './stats.js'
import { checkedNote, readNotes, writeNote } from './notes.js'
import { PAGE } from './sums.js'
import { readValueHistory } from './value-history.js'
import type { Visit } from './visit.js'

/** Time for which an answer of the first day serves all who ask a dashboard. */
const FIRST_DAY_MS = 1_000

/**
 * The figures of an activity, as its methods and its dashboard read them: through the cache that
 * all processes share, with the moment up to which each is complete.
 */
export class ActivityFigures {
  /** Reads the newest views from the cache. */
  readonly live: () => Promise<LiveActivity>
  /** The first day with views. Each list of an answer of the dashboard asks for it. */
  readonly firstDay: () => Promise<string | null>
  readonly #settings: ActivitySettings
  readonly #engine: Engine<Visit>
  readonly #calendar: OwnCalendar

  constructor(settings: ActivitySettings, engine: Engine<Visit>, calendar: OwnCalendar) {
    this.#settings = settings
    this.#engine = engine
    this.#calendar = calendar
    const live = liveView(() => this.#stats(), engine)
    this.live = () => this.#run(live)
    this.firstDay = shared(engine.clock, FIRST_DAY_MS, () =>
      this.#run(() =>
        engine.read(this.#keyOf('first-day'), (database, { name }) => readFirstDay(database, name)),
      ),
    )
  }

  stats(): Promise<ActivityStats> {
    return this.#run(() => this.#stats())
  }

  liveSince(asOf: string): Promise<LiveActivity> {
    return this.#run(() => readLive(asOf, this.#engine))
  }

  /** The figures of the window, and of the day, are of one reading. */
  overview(): Promise<Dated<Overview>> {
    const { windowSeconds } = this.#settings
    return this.#run(() =>
      this.#read(`overview:${windowSeconds}`, async (database, context) => {
        const { pageViews, visitors } = await readStats(database, context, windowSeconds)
        const calendar = await this.#calendar.read()
        const hour = calendar.hourOf(this.#engine.clock.now())
        const day = calendar.dayOfHour(hour)
        const range = { from: calendar.firstHour(day), to: hour + 1 }
        // After the window, so that the hours have at least its page views of the day.
        const hours = await readHourlyViews(database, context.name, range)
        const today = {
          day: dayText(day),
          views: hours.reduce((sum, views) => sum + views, 0),
          hours,
        }
        return { windowSeconds, pageViews, visitors, today }
      }),
    )
  }

  history(query: HistoryQuery, today?: Overview['today']): Promise<Dated<ActivityPeriod[]>> {
    return this.#run(async () => {
      const {
        by,
        range,
        summedBy: long,
      } = await this.#calendar.checked((days) => checkedHistory(query, days))
      const history = await this.#read(`history:${by}:${range.from}:${range.to}`, (database) =>
        readActivityHistory(database, this.#settings, by, range),
      )
      const { figures } = history
      const shown = today ? withToday(figures, by, today, this.#calendar.current) : figures
      return inPeriods({ ...history, figures: shown }, long)
    })
  }

  /** The history, which has no fewer page views than the overview of the same moment. */
  async historyOfNow(query: HistoryQuery): Promise<Dated<ActivityPeriod[]>> {
    // Without it the history is what it is.
    const overview = await this.overview().catch(() => undefined)
    return this.history(query, overview?.figures.today)
  }

  valueHistory(query: ValueHistoryQuery, bots = false): Promise<Dated<ValuePeriod[]>> {
    return this.#run(async () => {
      const {
        by,
        range,
        summedBy: long,
        ...key
      } = await this.#calendar.checked((days) => checkedValueHistory(query, this.#readable, days))
      // Keys of the cache are short, and values are any text.
      const value = hash('sha256', key.value, 'base64url')
      const own = ownMeasureOf(key.dimension, bots)
      const history = await this.#read(
        `history:${by}:${range.from}:${range.to}:${key.dimension}:${value}:${own?.measure ?? ''}`,
        (database, { name }) =>
          readValueHistory(database, own ? this.#nameOf(own.measure) : name, by, range, {
            ...key,
            ...(own && { dimension: own.dimension }),
          }),
      )
      return inPeriods(history, long)
    })
  }

  /** @param under of values that begin with it */
  top(dimension: string, query: TopQuery, under = ''): Promise<Dated<ValueViews[]>> {
    return this.#run(async () => {
      const known = oneOf('dimension', dimension, this.#readable)
      const { range, n, ...asked } = await this.#calendar.checked((days) => checkedTop(query, days))
      const own = ownMeasureOf(known, asked.bots)
      const { historyDays } = this.#settings
      const measure = own?.measure ?? ''
      const among = under && `:${hash('sha256', under, 'base64url')}`
      return this.#read(
        `top:${known}:${range.from}:${range.to}:${n}:${historyDays}:${measure}${among}`,
        (database, { asOf }) => {
          const { current } = this.#calendar
          const hours = wholeDays(range, keptFrom(asOf, historyDays, current), current)
          if (own) {
            const name = this.#nameOf(own.measure)
            return readTop(database, name, own.dimension, hours, { n, under })
          }
          return readActivityTop(database, this.#settings, known, hours, { n, under })
        },
      )
    })
  }

  /** The page views of each hour of a range of whole hours. */
  hours(range: Range): Promise<Dated<number[]>> {
    return this.#run(async () => {
      const calendar = await this.#calendar.read()
      const [from, to] = [calendar.hourOf(range.from), calendar.hourOf(range.to)]
      return this.#read(`hours:${from}:${to}`, (database, { name }) =>
        readHourlyViews(database, name, { from, to }),
      )
    })
  }

  /** One after the other: nobody waits for them, and each asks SQL several times. */
  async certificates(days: number): Promise<ActivityCertificate[]> {
    const today = (await this.#calendar.read()).dayOf(this.#engine.clock.now())
    const certificates: ActivityCertificate[] = []
    for (let day = today - days + 1; day <= today; day++) {
      certificates.push(await this.certificate(dayText(day)))
    }
    return certificates
  }

  certificate(day: string): Promise<ActivityCertificate> {
    return this.#run(async () => {
      const now = this.#engine.clock.now()
      const number = dayNumber('day', day, now, await this.#calendar.read())
      return this.#engine.read(this.#keyOf(`certificate:${number}`), async (database, { name }) =>
        readCertificate(database, name, number, await database.now()),
      )
    })
  }

  note(day: string, text: string | null): Promise<void> {
    return this.#run(async () => {
      const [number, checked] = checkedNote(day, text)
      await writeNote(this.#engine.database, this.#settings.name, number, checked)
    })
  }

  /** The notes on the days of a range. */
  notes({ from, to }: Range): Promise<Note[]> {
    return this.#run(async () => {
      const calendar = await this.#calendar.read()
      const days = { from: calendar.dayOf(from), to: calendar.dayOf(to - 1) + 1 }
      return this.#engine.read(this.#keyOf(`notes:${days.from}:${days.to}`), (database) =>
        readNotes(database, this.#settings.name, days),
      )
    })
  }

  /** The dimensions that this process knows of. */
  get dimensions(): readonly string[] {
    return [PAGE, ...Object.keys(this.#settings.dimensions)]
  }

  get #readable(): readonly string[] {
    return [...this.dimensions, ...RESERVED]
  }

  #nameOf(measure: Measure): string {
    return measureName(this.#settings.name, measure)
  }

  /** Days of another zone are other figures: before one is recorded, this process may be wrong. */
  #keyOf(key: string): string {
    const { zone } = this.#calendar.current
    return zone === 'UTC' ? key : `${zone}:${key}`
  }

  /** Reads figures, as `Engine.read` does. While SQL is away, they become stale. */
  async #read<Figures>(
    key: string,
    read: (database: Queryable, context: ReadContext) => Promise<Figures>,
  ): Promise<Dated<Figures>> {
    const { figures, asOf, stale, staleAt } = await this.#engine.read(
      this.#keyOf(key),
      async (database, context) => ({ ...context, figures: await read(database, context) }),
    )
    const isOver = this.#engine.clock.now() > staleAt
    const dated = { figures, asOf: new Date(asOf).toISOString(), stale: stale || isOver }
    return isOver && !stale ? { ...dated, unread: true } : dated
  }

  async #stats(): Promise<ActivityStats> {
    const { windowSeconds } = this.#settings
    const { figures, stale } = await this.#read(`stats:${windowSeconds}`, (database, context) =>
      readStats(database, context, windowSeconds),
    )
    return { ...figures, stale }
  }

  #run<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return this.#engine.connections.run(work)
  }
}

/** A history, by the weeks or months that were asked for. */
function inPeriods<One extends { readonly start: string }>(
  history: Dated<One[]>,
  by: LongPeriod | undefined,
): Dated<One[]> {
  return by ? { ...history, figures: summedBy(history.figures, by) } : history
}
