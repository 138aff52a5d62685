/** The default of `collect`, as a cron line: the site that is measured collects only if told to. */
export const EVERY_THREE_SECONDS = '*/3 * * * * *'
