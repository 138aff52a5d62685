/**
 * A part of the page that has figures and says of when they are, or says that it has none. Parts
 * fail on their own.
 */
import { byId, html } from './dom.js'
import { moment } from './format.js'

/** @typedef {{ readonly asOf: string, readonly stale?: boolean }} Dated */

export class Panel {
  /** @type {HTMLElement} */
  #body
  #what
  #note = html('p', { class: 'as-of' })
  /** @type {string | undefined} */
  #asOf

  /**
   * @param {string | HTMLElement} panel a section of the page with a body, or the body
   * @param {string} [what] what its figures are, if they are a part of others
   */
  constructor(panel, what) {
    this.#body =
      typeof panel === 'string'
        ? /** @type {HTMLElement} */ (byId(panel).querySelector('.body'))
        : panel
    this.#what = what
    this.#body.replaceChildren(
      html('p', { class: 'none' }, `No ${what?.toLowerCase() ?? 'figures'} yet`),
    )
  }

  /**
   * Shows these elements. They are put in once; those who made them change them afterwards.
   *
   * @param {readonly HTMLElement[]} content
   * @param {Dated} dated
   */
  show(content, { asOf, stale = false }) {
    if (this.#asOf === undefined) this.#body.replaceChildren(...content, this.#note)
    this.#asOf = asOf
    this.#body.classList.remove('missing')
    this.#say(stale ? ', which is longer ago than it should be.' : '.', stale)
  }

  /** Says that there are no newer figures than those that stand here. */
  missing() {
    this.#body.classList.add('missing')
    if (this.#asOf !== undefined) this.#say('. Newer figures cannot be read at the moment.', true)
  }

  /**
   * @param {string} end
   * @param {boolean} isOld
   */
  #say(end, isOld) {
    const begin = this.#what === undefined ? 'As of' : `${this.#what} as of`
    this.#note.textContent = `${begin} ${moment(Date.parse(this.#asOf ?? ''))}${end}`
    this.#body.classList.toggle('old', isOld)
  }
}
