import type { Period } from '../support/periods.js'
import type { LedgerReport } from '../wide-cache/ledger/report.js'

/**
 * The methods of an activity and of hits that the dashboard needs. Typed structurally: the
 * dashboard knows neither.
 */
export interface DashboardSource {
  readonly name: string
  /** `page` first, then the site's own dimensions. */
  readonly dimensions: readonly string[]
  stats(): Promise<Window>
  live(): Promise<Live>
  /** One entry for each hour or UTC day that starts from `from` on and before `to`. */
  history(range: Range & { readonly by: Period }): Promise<readonly Sums[]>
  /** The most viewed values; `null` for visits without a value. */
  top(dimension: string, range: Range & { readonly n: number }): Promise<readonly Ranked[]>
  ledger(): Promise<LedgerReport>
}

/** Milliseconds since the Unix epoch; `to` is not part of it. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** The figures of the window that ends at `asOf`. */
export interface Window {
  readonly windowSeconds: number
  readonly pageViews: number
  readonly visitors: number
  /** ISO 8601. */
  readonly asOf: string
  readonly stale: boolean
}

/** The sums of an hour or a day. */
export interface Sums {
  /** ISO 8601. */
  readonly start: string
  readonly pageViews: number
  readonly visitors: number
}

export interface Ranked {
  readonly value: string | null
  readonly pageViews: number
}

/** Contents of the cells, which may still change. */
export interface Live {
  /**
   * The newest drained layer ended at this moment, and the layers come after it; the time since
   * then is the collector's lag. ISO 8601.
   */
  readonly asOf: string
  readonly layerSeconds: number
  /** Oldest first, at most 20. */
  readonly layers: readonly LiveLayer[]
  /** The pages with the most views in these layers. */
  readonly pages: readonly { readonly page: string; readonly pageViews: number }[]
  /** Only some columns were read; counts are those of these columns. */
  readonly sampled: boolean
}

export interface LiveLayer {
  /** ISO 8601. */
  readonly start: string
  readonly pageViews: number
  readonly cells: readonly { readonly frames: number; readonly bytes: number }[]
}

/** Named hits, with their most viewed items. */
export interface DashboardHits {
  /** The heading of the list. */
  readonly name: string
  /** The `n` most viewed items, the first with the most. */
  top(n: number): Promise<readonly (readonly [item: string, hits: number])[]>
}
