/**
 * The styles of what the first view does not have: they are loaded once somebody touches the page,
 * or something else needs them. Without them, it is shown, too.
 */
import { html, rightToLeft } from './dom.js'

/** @type {Promise<unknown> | undefined} */
let loaded

const forced = matchMedia('(forced-colors: active)')

export const styles = () => (loaded ??= load())

async function load() {
  const href = new URL('later.css', import.meta.url).href
  const link = html('link', { rel: 'stylesheet', href })
  document.head.append(link)
  await new Promise((resolve) => {
    for (const end of ['load', 'error']) link.addEventListener(end, resolve)
  })
}

if (forced.matches || rightToLeft()) void styles()
forced.addEventListener('change', styles)
// A translator may turn the page around.
new MutationObserver(styles).observe(document.documentElement, { attributeFilter: ['dir'] })
for (const first of ['pointerdown', 'focusin']) {
  document.addEventListener(first, styles, { once: true })
}
// A pointer that rests where the page appears is reported as a move, too.
document.addEventListener('pointermove', ({ movementX, movementY }) => {
  if (movementX !== 0 || movementY !== 0) void styles()
})
