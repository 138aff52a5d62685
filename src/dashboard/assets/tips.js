/** The tooltip, which is loaded when there is first one to show. */
import { rightToLeft } from './dom.js'

/** @typedef {typeof import('./tip.js')} Tip */

/** @type {Tip | undefined} */
let tip
let asked = 0

/**
 * Shows lines as `tip.js` does.
 *
 * @param {Parameters<Tip['show']>} of
 */
export function showTip(...of) {
  const own = ++asked
  void import('./tip.js').then((loaded) => {
    tip = loaded
    // Another one may be shown by now, or none.
    if (own === asked) tip.show(...of)
  })
}

export function hideTip() {
  asked++
  tip?.hide()
}

/** The texts of an element are in `data-tip`, a line each. @param {Event} event */
function below({ target, type }) {
  const of = target instanceof Element ? target.closest('[data-tip]') : null
  if (!(of instanceof HTMLElement) || (type === 'focusin' && !of.matches(':focus-visible'))) return
  const { left, right, bottom } = of.getBoundingClientRect()
  showTip(of.dataset['tip']?.split('\n') ?? [], rightToLeft() ? right : left, bottom + 6, true)
}

for (const begin of ['pointerover', 'focusin']) document.addEventListener(begin, below)
for (const end of ['pointerout', 'focusout']) document.addEventListener(end, hideTip)
