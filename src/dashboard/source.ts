import type { CalendarSource, Period } from '../support/calendar.js'
import type { HistoryPeriod } from '../support/periods.js'
import type { LedgerReport } from '../wide-cache/ledger/report.js'
import type { Collecting } from '../wide-cache/operations/operations.js'
import type { ActivityPeriod, LiveActivity, ValuePeriod, ValueViews } from './site-figures.js'

/**
 * The methods of an activity and of hits that the dashboard needs. Typed structurally: the
 * dashboard knows neither.
 */
export interface DashboardSource extends Beginning {
  readonly name: string
  /** `page` first, then the site's own dimensions. */
  readonly dimensions: readonly string[]
  /** The hours and days that all figures are of. */
  readonly calendar: CalendarSource
  /** Days whose hours {@link top} knows. Before, a range has the whole of its last day. */
  readonly historyDays: number
  overview(): Promise<Dated<Overview>>
  /** Contents of the cells after this moment, the `asOf` of an overview. */
  live(asOf: string): Promise<LiveActivity>
  /** One entry for each hour, day, week or month that `from` to `to` is widened to. */
  history(range: Range & { readonly by: HistoryPeriod }): Promise<Dated<readonly ShownPeriod[]>>
  /** The same for one value of a dimension. */
  valueHistory(query: ValueRange): Promise<Dated<readonly ValuePeriod[]>>
  /** The most viewed values; `null` for visits without a value. */
  top(dimension: string, range: ListRange): Promise<Dated<readonly ValueViews[]>>
  /** Page views of each hour of a range, without gaps. */
  hours(range: Range): Promise<Dated<readonly number[]>>
  /** What happened on the days of a range. */
  notes(range: Range): Promise<readonly Note[]>
  ledger(): Promise<LedgerReport>
  /** Certificates of the last days, the oldest first. */
  certificates(days: number): Promise<readonly Certificate[]>
  /** Collectors of each grid, as of some seconds ago. */
  collectors(): Promise<readonly Collecting[]>
  /** Problems of this process and its servers, a sentence each. */
  health(): { readonly reasons: readonly string[] }
  /** One sentence: what is wrong with this process or its servers, and what to do. */
  advice(): string | undefined
}

/** Figures of an hour or a day, perhaps without those that not everybody may see. */
export type ShownPeriod = Omit<ActivityPeriod, 'bots'> & Partial<Pick<ActivityPeriod, 'bots'>>

/** A note on a day. */
export interface Note {
  /** The day, such as `2026-11-01`. */
  readonly day: string
  readonly text: string
}

/** A source of totals. */
export type Totals = Pick<DashboardSource, 'history' | 'firstDay'> &
  Partial<Pick<DashboardSource, 'notes'>>

/** Says when its figures begin. */
export interface Beginning {
  /**
   * The first day with figures, such as `2026-11-01`; `null`: there is none yet. Without it,
   * all days are compared.
   */
  firstDay?(): Promise<string | null>
}

/** Reads figures; `null` where there are none. */
export type Read = <T>(what: string, work: () => Promise<T>) => Promise<T | null>

/** Figures, and how old they are. */
export interface Dated<Figures> {
  readonly figures: Figures
  /** The moment up to which all visits are counted. ISO 8601. */
  readonly asOf: string
  /** That moment is longer ago than it should be. */
  readonly stale: boolean
  /** It is only because newer figures could not be read in time. */
  readonly unread?: true
}

/** Milliseconds since the Unix epoch; `to` is not part of it. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** Whether the figures of a day agree with the ledger. */
export interface Certificate {
  readonly day: string
  /** The oldest day with page views. */
  readonly firstDay: string | null
  readonly closed: boolean
  readonly pageViews: number
  /** `null`: the day was imported. */
  readonly balanced: boolean | null
  /** The differences, a sentence each. */
  readonly findings: readonly string[]
}

/** A range of a list of values. */
export interface ListRange extends Range {
  readonly n: number
  /** Whether views are those of bots, and not of people. */
  readonly bots?: boolean
  /** Only values that begin with this text. */
  readonly under?: string
}

/** A range of the history of a value. */
export interface ValueRange extends Range {
  readonly by: HistoryPeriod
  /** Whether views are those of bots, and not of people. */
  readonly bots?: boolean
  readonly dimension: string
  readonly value: string
}

/** Figures of one reading: those of the window that ends at `asOf`, and of the day so far. */
export interface Overview {
  readonly windowSeconds: number
  readonly pageViews: number
  readonly visitors: number
  readonly today: Today
}

/** The day so far. */
export interface Today {
  /** The day, such as `2026-11-01`. */
  readonly day: string
  readonly views: number
  /** Page views of each of its hours so far. */
  readonly hours: readonly number[]
}

/** Named hits, with their most viewed items. */
export interface DashboardHits extends Beginning {
  /** The heading of the list. */
  readonly name: string
  /** Name of the time zone of its days. Not given: the same as that of the activity. */
  timeZone?(): Promise<string>
  /** The `n` most viewed items of a range of days, the first with the most. */
  top(
    n: number,
    range: {
      /** Start of the first day, in milliseconds since the Unix epoch. */
      readonly from: number
      /** End of the last one. */
      readonly to: number
    },
  ): Promise<readonly (readonly [item: string, hits: number])[]>
  /** The hits of an item in each hour or day. */
  history(
    item: string,
    range: {
      /** Start of the first one, in milliseconds since the Unix epoch. */
      readonly from: number
      /** End of the last one. */
      readonly to: number
      /** Hours, or days. */
      readonly by: Period
    },
  ): Promise<
    readonly {
      /** Start of the hour or day, in ISO 8601. */
      readonly start: string
      /** Hits of the period; `null`: not known. */
      readonly hits: number | null
    }[]
  >
}
