/** What a site without page views sees: what works already, and what may be missing. */
import { html } from './dom.js'

/** @param {boolean | undefined} isDone @param {string} text */
function check(isDone, text) {
  return html(
    'li',
    html(
      'span',
      { class: `mark ${isDone ? 'up' : 'quiet'}`, 'aria-hidden': 'true' },
      isDone ? '✓' : '○',
    ),
    html('span', html('span.hidden', isDone ? 'Done: ' : 'To do: '), text),
  )
}

/** @param {string} code */
const block = (code) =>
  html('pre', { tabindex: 0, role: 'region', 'aria-label': 'Code' }, html('code', code))

/**
 * @param {object} works
 * @param {boolean} works.cache
 * @param {boolean} works.database
 * @param {boolean} works.collector
 * @param {boolean} works.dimensions whether the site has any of its own
 */
export function emptyState({ cache, database, collector, dimensions }) {
  return [
    html(
      'div',
      html('h2', 'No page views yet'),
      html('p', 'Open a page of the site in another tab. It is here within 10 seconds.'),
      html(
        'ul',
        check(cache, 'The cache answers'),
        check(database, 'The database answers'),
        check(collector, 'A collector runs'),
        check(false, 'A page view has come'),
      ),
    ),
    html(
      'div',
      html('h2', 'If it stays empty'),
      html('p', 'Is the middleware before your routes?'),
      block("app.use(activity.middleware())\napp.get('/', …)"),
      html('p.quiet', 'Bots, files, and answers other than pages are not counted. '),
    ),
    ...(dimensions
      ? []
      : [
          html(
            'div',
            html('h2', 'Referrers, countries, devices'),
            html(
              'p',
              'Each needs a line of the option ',
              html('code', 'dimensions'),
              '. Lists are here from the first page view on.',
            ),
            block('dimensions: {\n  referrer: referrerHost(),\n  device: deviceClass(),\n}'),
          ),
        ]),
  ]
}
