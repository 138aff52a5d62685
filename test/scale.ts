/** The amount of a scaling test that is run: little in `npm test`, much in `npm run test:all`. */

/** Set by `test/run.ts --all`. */
export const ALL_VARIABLE = 'WIDE_CACHE_TEST_ALL'

/** Whether this run is `npm run test:all`. */
export const ALL = process.env[ALL_VARIABLE] === '1'

/** `few` in `npm test`, `many` in `npm run test:all`. */
export function fewOrMany<T>(few: T, many: T): T {
  return ALL ? many : few
}
