/**
 * Reports views of the page to `seen` beside this script, each when somebody looks at the page:
 * once it has loaded and its tab is shown; again when it comes out of the back/forward cache; and
 * when a navigation within the document changes path or query. `replaceState` and a hash are no
 * views, and a page in a frame is not a whole page.
 *
 * A report is `{ page, referrer }` in JSON. Nothing is stored, and nothing of the browser is read.
 * It runs under `default-src 'none'; script-src 'self'; connect-src 'self'`.
 */

/** Characters that are sent. The server takes 4 kB, and looks at less. */
const MAX_PAGE = 2048
const MAX_REFERRER = 512

let page = address()
let referrer = document.referrer
/** A view waits until somebody looks. */
let isDue = true

function address() {
  return location.pathname + location.search
}

function report() {
  if (!isDue || document.hidden || document.readyState !== 'complete') return
  isDue = false
  const body = { page: page.slice(0, MAX_PAGE), referrer: referrer.slice(0, MAX_REFERRER) }
  fetch(new URL('seen', import.meta.url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    // The report arrives though the visitor leaves.
    keepalive: true,
  }).catch(() => undefined)
}

function view() {
  isDue = true
  report()
}

/** @param {boolean} isView whether another address is another view */
function moved(isView) {
  const before = page
  page = address()
  if (!isView || page === before) return
  referrer = location.origin + before
  view()
}

function watchHistory() {
  for (const name of /** @type {const} */ (['pushState', 'replaceState'])) {
    const original = history[name]
    history[name] = (...given) => {
      original.apply(history, given)
      moved(name === 'pushState')
    }
  }
  addEventListener('popstate', () => moved(true))
}

if (self === top) {
  if ('navigation' in self) {
    navigation.addEventListener('currententrychange', ({ navigationType }) =>
      moved(navigationType === 'push' || navigationType === 'traverse'),
    )
  } else watchHistory()
  addEventListener('load', report)
  document.addEventListener('visibilitychange', report)
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) view()
  })
  report()
}
