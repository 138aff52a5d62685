/** A part of the page that has figures, or says that it has none. Parts fail on their own. */
import { byId, html } from './dom.js'
import { minuteOfDay } from './format.js'

export class Panel {
  /** @type {HTMLElement} */
  #body
  #note = html('p', { class: 'note', hidden: true })
  /** @type {number | undefined} */
  #shownAt

  /** @param {string | HTMLElement} panel a section of the page with a body, or the body */
  constructor(panel) {
    this.#body =
      typeof panel === 'string'
        ? /** @type {HTMLElement} */ (byId(panel).querySelector('.body'))
        : panel
  }

  /** Whether there have been no figures yet. */
  get empty() {
    return this.#shownAt === undefined
  }

  /**
   * Shows these elements. They are put in once; those who made them change them afterwards.
   *
   * @param {readonly HTMLElement[]} content
   */
  show(content) {
    if (this.empty) this.#body.replaceChildren(...content, this.#note)
    this.#shownAt = Date.now()
    this.#note.hidden = true
  }

  /** Says that there are no figures, and of when those are that still stand here. */
  missing() {
    if (this.#shownAt === undefined) {
      this.#body.replaceChildren(html('p', { class: 'none' }, 'No figures yet'))
      return
    }
    const time = minuteOfDay(this.#shownAt)
    this.#note.textContent = `No figures at the moment. These are from ${time}.`
    this.#note.hidden = false
  }
}
