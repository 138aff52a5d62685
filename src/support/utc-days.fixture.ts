import { type CalendarSource, UTC } from './calendar.js'

/** The days of UTC, known from the start. */
export const UTC_DAYS: CalendarSource = { current: UTC, read: () => Promise.resolve(UTC) }
