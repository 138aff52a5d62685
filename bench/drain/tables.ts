/** The tables that a collecting run fills. */
export const TABLES: readonly string[] = [
  'activities',
  'activity_seconds',
  'activity_visitors',
  'activity_books',
  'activity_hours',
  'activity_days',
  'activity_hour_values',
  'activity_day_values',
  'activity_certificates',
  'activity_closed_values',
  'wide_cache_writers',
  'wide_cache_ranges',
]
