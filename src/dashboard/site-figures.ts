/** Figures of a site, as an activity returns them and the dashboard shows them. */
import type { LiveCell } from '../wide-cache/live.js'

/** Figures of one measure in one hour or day. */
export interface MeasuredPeriod {
  /** Start of the hour or day, in ISO 8601. */
  readonly start: string
  /** Page views of the period. */
  readonly pageViews: number
  /** Different visitors of the period. A visitor of two days is two visitors. */
  readonly visitors: number | null
  /** The day was imported: nobody counted it here. */
  readonly imported?: true
}

/** The views of one value of a dimension, of one measure. */
export interface MeasuredValue {
  /** `null`: visits without a value. `(other)`: the values that are not listed one by one. */
  readonly value: string | null
  /** Page views with this value. */
  readonly pageViews: number
}

/** Views of the measure that the figures are not of, where it has ever had any. */
export interface OtherViews {
  /** Page views that browsers have reported. Only with `count: 'served'`. */
  readonly seen?: number
  /** Pages that the server sent to people. Only with `count: 'seen'`. */
  readonly served?: number
}

/**
 * Figures of one hour or day. `null`: a day before the first one of the measure. Nothing is
 * known of it.
 */
export interface ActivityPeriod {
  /** Start of the hour or day, in ISO 8601. */
  readonly start: string
  /** Page views of the period. */
  readonly pageViews: number | null
  /** Different visitors of the period. A visitor of two days is two visitors. */
  readonly visitors: number | null
  /** The day, or one of the days, was imported. Visitors may be `null` then. */
  readonly imported?: true
  /** Pages that were sent to bots. They are in no other figure. */
  readonly bots: number | null
  /**
   * Page views that browsers have reported, if there have ever been any. Only with `count:
   * 'served'`.
   */
  readonly seen?: number | null
  /**
   * Pages that the server sent to people, if there have ever been any. Only with `count: 'seen'`.
   */
  readonly served?: number | null
  /**
   * Pages that the server sent to people and no browser has reported, wherever both measures are
   * known. The script may be blocked, or the visitor have left before it ran.
   */
  readonly unseen?: number | null
}

/** Page views with one value of a dimension in one hour or day. */
export interface ValuePeriod {
  /** Start of the hour or day, in ISO 8601. */
  readonly start: string
  /**
   * Page views with the value. `null` where they are not known: the value is among `(other)`, the
   * hour is older than `historyDays`, or the day is before the first one.
   */
  readonly pageViews: number | null
  /** The day, or one of the days, was imported. */
  readonly imported?: true
}

/**
 * The views of one value of a dimension. Those of the other measure are not known where they may be
 * among its `(other)`.
 */
export interface ValueViews extends MeasuredValue, OtherViews {}

/** One layer of the grid, as it lies in the cache. */
export interface LiveActivityLayer {
  /** Start of the layer, in ISO 8601. */
  readonly start: string
  /** Page views in its cells. */
  readonly pageViews: number
  /** Contents of each cell, by columns. */
  readonly cells: readonly LiveCell[]
}

/** One page of the newest layers. */
export interface LivePage {
  /** The page, as it is stored. */
  readonly page: string
  /** Its views in these layers. */
  readonly pageViews: number
}

/** Visits that are in the cache and not in the figures yet. They may still change. */
export interface LiveActivity {
  /** The figures are complete up to this moment; the layers come after it. In ISO 8601. */
  readonly asOf: string
  /** Seconds that each layer lasts. */
  readonly layerSeconds: number
  /** Oldest first, at most 20. A visit is in one within a second. */
  readonly layers: readonly LiveActivityLayer[]
  /** The pages with the most views in these layers, at most 20. */
  readonly pages: readonly LivePage[]
  /** There was more than 1 MiB to read, so that only some columns were: counts are of those. */
  readonly sampled: boolean
}
