/** The default of the option `collect`, as a cron line: the peer collects only if it is given one. */
export const EVERY_THREE_SECONDS = '*/3 * * * * *'
