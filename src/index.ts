/**
 * Site activity and hits, the wide cache that both are built on, and the caches and databases.
 *
 * @packageDocumentation
 */
// First, so that a bundle is refused before anything else of it can fail.
import './support/package-file.js'

export type { Activity, RecordedView, RecordedVisit } from './activity/activity.js'
export { createActivity } from './activity/site-activity.js'
export type { ActivityCertificate, CertifiedLedger } from './activity/certificate.js'
export { browser } from './activity/dimensions/browser.js'
export { campaign } from './activity/dimensions/campaign.js'
export { country } from './activity/dimensions/country.js'
export { deviceClass } from './activity/dimensions/device-class.js'
export { language } from './activity/dimensions/language.js'
export type { Dimension } from './activity/dimensions/dimensions.js'
export { referrerHost, type ReferrerHostOptions } from './activity/dimensions/referrer-host.js'
export { section } from './activity/dimensions/section.js'
export { source, type Source } from './activity/dimensions/source.js'
export { system } from './activity/dimensions/system.js'
export { overview, type OverviewOptions } from './activity/overview.js'
export { lenientPath } from './activity/lenient-path.js'
export type { Period } from './support/calendar.js'
export type { HistoryPeriod, Moment } from './support/periods.js'
export type { ActivityOptions } from './activity/options.js'
export type { HistoryQuery, TopQuery, ValueHistoryQuery } from './activity/ranges.js'
export type { ActivityRouterOptions } from './activity/router.js'
export type { ActivityStats } from './activity/stats.js'
export type { Authorize, DashboardOptions } from './dashboard/options.js'
export type { DashboardHits } from './dashboard/source.js'
export type {
  ActivityPeriod,
  LiveActivity,
  LiveActivityLayer,
  LivePage,
  OtherViews,
  ValuePeriod,
  ValueViews,
} from './dashboard/site-figures.js'
export type {
  HitParties,
  Hits,
  HitsHistoryOptions,
  HitsHistoryQuery,
  HitsTopOptions,
  HitsTopQuery,
} from './hits/hits.js'
export { createHits } from './hits/item-hits.js'
export type { HitsPeriod } from './hits/read-history.js'
export type { HitsMiddlewareOptions } from './hits/middleware.js'
export type { HitsOptions } from './hits/options.js'
export type { HitsRouterOptions } from './hits/router.js'
export type { Handler, Next, ServerAnswer, ServerRequest } from './page-views/handler.js'
export * from './wide-cache/index.js'
