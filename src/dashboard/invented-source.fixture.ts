/** An activity whose figures are invented, for the tests of the dashboard. */
import type { LiveActivity } from './site-figures.js'
import type {
  DashboardHits,
  DashboardSource,
  Dated,
  ListRange,
  Note,
  Range,
  ValueRange,
} from './source.js'
import type { CalendarSource } from '../support/calendar.js'
import { UTC_DAYS } from '../support/utc-days.fixture.js'
import { summedBy } from '../support/calendar-days.js'
import type { HistoryPeriod } from '../support/periods.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const LAYER_MS = 3_000
const LAYERS = 11
const DRAINED = 3
const COLUMNS = 15
const HOURS_A_DAY = 24

/** A page's path as strangers send it: text, whatever is in it. */
export const HOSTILE = '<img src=x onerror=alert(1)>'

const LONG_NAME = 'how-do-you-sharpen-a-kitchen-knife-without-a-stone'

const VALUES: Readonly<Record<string, readonly (string | null)[]>> = {
  page: [
    '/',
    '/thread/how-do-you-keep-your-bicycle-from-rusting-through-a-winter-by-the-sea',
    '/thread/12',
    HOSTILE,
    '=HYPERLINK("http://example.org","x")',
    '/search',
    '/about',
  ],
  referrer: [null, 'news.example', 'search.example', 'social.example', '(other)'],
  campaign: [null, 'newsletter/email/november', 'launch/social/video'],
  country: ['DE', 'US', 'FR', 'BR', 'JP', null],
  device: ['phone', 'desktop', 'tablet'],
  browser: ['Firefox', null],
  system: ['Windows', 'iOS'],
  language: ['de', 'x1', null],
  section: ['/thread/', '/blog/', null],
  gone: ['/old/%C3%A4 ← news.example', '/gone'],
  bot: ['GPTBot', 'Googlebot', null],
  botPurpose: ['training', 'search'],
}
/** The lists that the page begins with. */
const FIRST = ['page', 'referrer', 'campaign', 'country', 'device']
const TABS = ['section', 'browser', 'system', 'language']

interface InventedPeriod {
  readonly start: string
  readonly pageViews: number
  readonly visitors: number
  readonly bots: number
  readonly seen: number
  readonly unseen: number
}

/** Figures of which a site's day can be read: more in the evening, fewer at the weekend. */
function viewsOf(hour: number): number {
  const time = new Date(hour * HOUR_MS)
  const daily = 1 + Math.sin(((time.getUTCHours() - 9) / HOURS_A_DAY) * 2 * Math.PI)
  const weekend = [0, 6].includes(time.getUTCDay()) ? 0.6 : 1
  return Math.round(weekend * (40 + 160 * daily) + (hour % 7) * 9)
}

/** An activity at the time `now()`; what it was asked is in `asked`. */
export class InventedSource implements DashboardSource {
  calendar: CalendarSource = UTC_DAYS
  readonly historyDays = 8
  readonly name = 'forum'
  readonly dimensions: readonly string[]
  readonly asked: string[] = []
  /** Questions that fail, as while the database is away. */
  readonly failing = new Set<string>()
  /** Questions that are answered with old figures, because newer ones take long to read. */
  readonly slow = new Set<string>()
  /** What it advises to do. */
  trouble: string | undefined
  /** Page views that have come in this hour since the source was made. */
  come = 0
  /** Notes on days. */
  written: Note[] = []
  /** Figures are those of this moment, as while no collector comes. */
  staleSince: number | undefined
  readonly #now: () => number

  constructor(now: () => number, dimensions: readonly string[] = [...FIRST, ...TABS]) {
    this.#now = now
    this.dimensions = dimensions
  }

  async overview() {
    this.#ask('overview')
    const now = this.#now()
    const start = now - (now % DAY_MS)
    const hours: number[] = []
    for (let time = start; time < now; time += HOUR_MS) hours.push(viewsOf(time / HOUR_MS))
    hours[hours.length - 1]! += this.come
    return this.#dated(
      {
        windowSeconds: 600,
        pageViews: 1_345 + this.come,
        visitors: 212,
        today: {
          day: new Date(start).toISOString().slice(0, 10),
          views: hours.reduce((sum, views) => sum + views, 0),
          hours,
        },
      },
      'overview',
    )
  }

  async live(_asOf: string): Promise<LiveActivity> {
    this.#ask('live')
    const first = this.#asOf() / LAYER_MS
    const watermark = first + DRAINED
    const layers = Array.from({ length: LAYERS }, (_, at) => {
      const layer = first + at
      const drained = layer < watermark
      const cells = Array.from({ length: COLUMNS }, (_, column) => {
        const frames = drained ? 0 : Math.max(0, ((layer * 31 + column * 17) % 11) - 4)
        return { frames, bytes: frames * 730 }
      })
      const pageViews = drained ? 0 : 12 + (layer % 9)
      return { start: new Date(layer * LAYER_MS).toISOString(), pageViews, cells }
    })
    const pages = [
      { page: '/', pageViews: 41 },
      { page: HOSTILE, pageViews: 17 },
      { page: '/search', pageViews: 3 },
    ]
    return {
      asOf: new Date(watermark * LAYER_MS).toISOString(),
      layerSeconds: LAYER_MS / 1_000,
      layers,
      pages,
      sampled: false,
    }
  }

  async history({
    from,
    to,
    by,
  }: Range & { readonly by: HistoryPeriod }): Promise<Dated<InventedPeriod[]>> {
    if (by === 'week' || by === 'month') {
      const { figures, ...dated }: Dated<InventedPeriod[]> = await this.history({
        from,
        to,
        by: 'day',
      })
      return { ...dated, figures: summedBy(figures, by) }
    }
    this.#ask(`history ${by} ${new Date(from).toISOString()} ${new Date(to).toISOString()}`)
    const step = by === 'day' ? DAY_MS : HOUR_MS
    const sums = Array.from({ length: (to - from) / step }, (_, at) => {
      const start = from + at * step
      let pageViews = 0
      for (let time = start; time < Math.min(start + step, this.#now()); time += HOUR_MS) {
        pageViews += viewsOf(time / HOUR_MS)
      }
      const visitors = Math.ceil(pageViews / (by === 'day' ? 5 : 3))
      const [bots, seen] = [Math.ceil(pageViews / 2), Math.floor(pageViews / 3)]
      const unseen = pageViews - seen
      return { start: this.calendar.current.textOf(start), pageViews, visitors, bots, seen, unseen }
    })
    return this.#dated(sums, 'history')
  }

  async hours({ from, to }: Range) {
    this.#ask('hours')
    const first = from / HOUR_MS
    return this.#dated(
      Array.from({ length: (to - from) / HOUR_MS }, (_, at) => viewsOf(first + at)),
    )
  }

  async notes({ from, to }: Range) {
    return this.written.filter(({ day }) => from <= Date.parse(day) && Date.parse(day) < to)
  }

  /** A value that is `(other)` on Sundays. */
  async valueHistory({ from, to, by, dimension, value, bots }: ValueRange) {
    this.#ask(`history of ${dimension} ${value}${bots ? ' by bots' : ''}`)
    const { figures, ...dated } = await this.history({ from, to, by })
    return {
      ...dated,
      figures: figures.map(({ start, pageViews }) => {
        const isSunday = new Date(start).getUTCDay() === 0
        return { start, pageViews: isSunday ? null : Math.floor(pageViews / 10) }
      }),
    }
  }

  async top(dimension: string, { from, to, n, bots = false, under = '' }: ListRange) {
    this.#ask(`top ${dimension} ${n}${under && ` under ${under}`}${bots ? ' by bots' : ''}`)
    const hours = (to - from) / HOUR_MS
    const values = VALUES[dimension] ?? []
    return this.#dated(
      values
        .filter((value) => !under || value?.startsWith(under))
        .slice(0, n)
        .map((value, at) => {
          const pageViews = Math.round((hours * (bots ? 30 : 90)) / (at + 1))
          if (bots || dimension === 'gone') return { value, pageViews }
          // The second page is one that a cache in front answers.
          return { value, pageViews, seen: at === 1 ? 2 * pageViews : Math.floor(pageViews / 2) }
        }),
    )
  }

  advice() {
    return this.trouble
  }

  async certificates(days: number) {
    this.#ask(`certificates ${days}`)
    return Array.from({ length: days }, (_, at) => {
      const day = new Date(this.#now() - (days - 1 - at) * DAY_MS).toISOString().slice(0, 10)
      const findings = at === 20 ? ['It differs by <b>3</b> rows.'] : []
      const [closed, balanced] = [at < days - 1, findings.length === 0]
      return { day, firstDay: '2026-01-01', closed, pageViews: 9, balanced, findings }
    })
  }

  async collectors() {
    this.#ask('collectors')
    const lastRun = { secondsAgo: 2.4, rows: 1_250, ms: 31 }
    return [
      { isShared: true, periodSeconds: 3, layersWaiting: 1, lastRun },
      { isShared: false, periodSeconds: null, layersWaiting: 9, lastRun: null },
    ]
  }

  health() {
    return { reasons: this.trouble === undefined ? [] : ['the database has failed for 9 s'] }
  }

  async ledger() {
    this.#ask('ledger')
    return {
      issued: 1_204_511,
      committed: 1_204_300,
      duplicate: 41,
      quarantined: 0,
      dropped: 0,
      outstanding: 211,
      owed: 0,
      lost: 0,
    }
  }

  #dated<Figures>(figures: Figures, what = ''): Dated<Figures> {
    const asOf = new Date(this.staleSince ?? this.#asOf()).toISOString()
    if (this.slow.has(what)) return { figures, asOf, stale: true, unread: true }
    return { figures, asOf, stale: this.staleSince !== undefined }
  }

  #ask(question: string): void {
    this.asked.push(question)
    const [what = ''] = question.split(' ')
    if (this.failing.has(what)) throw new Error('connect ECONNREFUSED user:password@db')
  }

  /** The figures end some layers ago, at the start of a layer. */
  #asOf(): number {
    return (Math.floor(this.#now() / LAYER_MS) - LAYERS + 1) * LAYER_MS
  }
}

/** Lists that are full, as those of a large site. */
export class LargeSource extends InventedSource {
  override async top(dimension: string, range: ListRange) {
    const { figures, ...dated } = await super.top(dimension, range)
    const most = figures[0]?.pageViews ?? 0
    const more = Array.from({ length: range.n - figures.length }, (_, at) => ({
      value: dimension === 'page' ? `/thread/${at}-${LONG_NAME}` : `${dimension}-${at}.example`,
      pageViews: Math.max(1, most - at),
      seen: 1,
    }))
    return { ...dated, figures: [...figures, ...more].sort((a, b) => b.pageViews - a.pageViews) }
  }
}

/** Hits with invented counts. The last item has a name that strangers have chosen. */
export function inventedHits(name: string, items = 8): DashboardHits {
  return {
    name,
    top: async (n, { from, to }) =>
      Array.from({ length: Math.min(n, items) }, (_, at): [string, number] => [
        at === items - 1 ? '(other)' : `${name}-${at + 1}`,
        Math.round(((to - from) / DAY_MS) * (900 / (at + 1))),
      ]),
    history: async (_item, { from, to, by }) => {
      const step = by === 'day' ? DAY_MS : HOUR_MS
      return Array.from({ length: (to - from) / step }, (_, at) => ({
        start: new Date(from + at * step).toISOString(),
        hits: at % 5,
      }))
    },
  }
}
