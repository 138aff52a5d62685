/** Kinds of rows that the package itself records, and the command `wide-cache collect` collects. */
export const PACKAGE_KINDS: readonly string[] = ['activity', 'hits']

/** Advice for the log if no process collects them. */
export const START_COMMAND =
  'start "node_modules/.bin/wide-cache collect" beside the web processes ("npx wide-cache ' +
  'collect" in a terminal), or leave out collect: false in one of them'
