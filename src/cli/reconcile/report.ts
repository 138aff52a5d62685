/** A comparison as text for people. */
import { amount, textTable } from '../table.js'
import type { Comparison } from './compare.js'
import { type Reason, REASONS } from './tally.js'

/** Pages that are shown; JSON has all. */
const MAX_PAGES = 20

/** What a combined log does not have. */
export const COMBINED_LIMITS =
  'A combined log does not say the type of a response, the host, or how a page was fetched. So ' +
  'only paths that were ever counted are compared, and pages that were fetched in advance or by ' +
  'a script count as seen by a person.'
/** What no log has. */
export const LIMITS =
  'No log knows what the site itself decides: skip(), record(), its own pages, privacySignals: ' +
  '"skip", and botTypes.'

export function reportText(
  { days, left, pages }: Comparison,
  lines: Readonly<Record<Reason, number>>,
  limits: readonly string[],
): string {
  const parts = [
    days.length > 0 &&
      textTable([
        ['DAY', 'PAGES', 'COUNTED', 'BOTS', 'COUNTED', 'DIFFERENCE'],
        ...days.map(({ day, pages: views, bots, late, difference }) => [
          day,
          ...[views.log, views.counted, bots.log, bots.counted].map((one) => right(one)),
          `${difference.toFixed(1)} %${late > 0 ? `, ${amount(late)} late` : ''}`,
        ]),
      ]),
    pages.length > 0 &&
      textTable([
        ['DAY', 'LOG', 'COUNTED', 'PAGE'],
        ...pages
          .slice(0, MAX_PAGES)
          .map(({ day, page, log, counted }) => [day, right(log, 3), right(counted), page]),
      ]) + (pages.length > MAX_PAGES ? `and ${amount(pages.length - MAX_PAGES)} more\n` : ''),
    left.map(({ day, why }) => `${day} is left out: ${why}\n`).join(''),
    textTable(
      Object.entries(REASONS).flatMap(([reason, text]) => {
        const count = lines[reason as Reason]
        return count === 0 ? [] : [[right(count, 9), text]]
      }),
    ),
    limits.map((limit) => `${limit}\n`).join(''),
  ]
  return parts.filter((part) => part).join('\n')
}

/** Below the end of its heading. */
function right(count: number, width = 7): string {
  return amount(count).padStart(width)
}
