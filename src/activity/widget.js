/**
 * <site-activity src="/activity">: shows "12 visitors, 345 page views in the last 10 minutes" and
 * keeps it up to date. What the page puts inside the element is shown until there are figures.
 *
 * No dependencies, no inline style or script, no HTML from strings: it runs under
 * `default-src 'none'; script-src 'self'; connect-src 'self'`. Colours and font are the page's,
 * dark or light; `--site-activity-*` below and the parts `figures`, `number` and `stale` change the
 * looks.
 *
 * @typedef {{ visitors: number, pageViews: number, windowSeconds: number, asOf: string,
 * stale: boolean }} Figures
 * @typedef {Partial<Figures> | null | undefined} Answer what the endpoint has said, if it has
 */
;(() => {
  const NAME = 'site-activity'
  if (customElements.get(NAME)) return

  const REFRESH_MS = 30_000
  /**
   * Up to so much of a period earlier or later, so that the visitors of a page do not come all at
   * once.
   */
  const JITTER = 0.2
  const TIMEOUT_MS = 10_000
  /** A screen reader speaks of a change once a minute at most, */
  const ANNOUNCE_MS = 60_000
  /** and what it has said is not left behind for those who browse the page with it. */
  const ANNOUNCED_MS = 5_000

  const sheet = new CSSStyleSheet()
  sheet.replaceSync(`
    :host { display: inline-block; }
    :host([hidden]) { display: none; }
    [part~=figures] {
      display: inline-block;
      color: var(--site-activity-color, inherit);
      background: var(--site-activity-background, transparent);
      border: var(
        --site-activity-border,
        1px solid color-mix(in srgb, currentColor 30%, transparent)
      );
      border-radius: var(--site-activity-radius, 0.5em);
      padding: var(--site-activity-padding, 0.3em 0.7em);
      font: var(--site-activity-font, inherit);
      font-variant-numeric: tabular-nums;
    }
    [part~=figures]:empty { display: none; }
    [part~=number] { font-weight: 600; }
    [part~=stale] { border-style: dashed; }
    [role=status] {
      position: absolute;
      width: 1px;
      height: 1px;
      overflow: hidden;
      clip-path: inset(50%);
      white-space: nowrap;
    }
  `)

  const numbers = new Intl.NumberFormat('en')
  const times = new Intl.DateTimeFormat('en', {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })

  /** "1 visitor", "2 visitors" @type {(count: number, thing: string) => [string, string]} */
  function counted(count, thing) {
    return [numbers.format(count), ` ${thing}${count === 1 ? '' : 's'}`]
  }

  const units = /** @type {const} */ ([
    [3600, 'hour'],
    [60, 'minute'],
  ])

  /** "minute", "10 minutes", "90 seconds", "24 hours" @param {number} seconds */
  function span(seconds) {
    const [size, unit] = units.find(([size]) => seconds % size === 0) ?? [1, 'second']
    return seconds === size ? unit : counted(seconds / size, unit).join('')
  }

  /** @param {Answer} value @returns {value is Figures} */
  function areFigures(value) {
    return [value?.visitors, value?.pageViews, value?.windowSeconds].every(
      (number) => Number.isSafeInteger(number) && Number(number) >= 0,
    )
  }

  /** @param {string} tag @param {string} name @param {(string | Node)[]} children */
  function part(tag, name, ...children) {
    const element = document.createElement(tag)
    element.part = name
    element.append(...children)
    return element
  }

  class SiteActivity extends HTMLElement {
    static observedAttributes = ['src']

    #before = document.createElement('slot')
    #line = part('span', 'figures')
    #status = document.createElement('span')
    #text = ''
    #announcedText = ''
    #announcedAt = 0
    #refreshedAt = -Infinity
    /** @type {number | undefined} */
    #timer
    /** @type {number | undefined} */
    #silence
    /** @type {AbortController | undefined} */
    #request
    #onVisibility = () => this.#plan()

    constructor() {
      super()
      const root = this.attachShadow({ mode: 'open' })
      root.adoptedStyleSheets = [sheet]
      this.#status.role = 'status'
      this.#status.ariaLive = 'polite'
      root.append(this.#before, this.#line, this.#status)
    }

    connectedCallback() {
      document.addEventListener('visibilitychange', this.#onVisibility)
      this.#plan()
    }

    disconnectedCallback() {
      document.removeEventListener('visibilitychange', this.#onVisibility)
      clearTimeout(this.#timer)
      this.#request?.abort()
    }

    attributeChangedCallback() {
      this.#refreshedAt = -Infinity
      this.#request?.abort()
      this.#plan()
    }

    /**
     * Refreshes when a period has gone by since the last time, which may be now; not in a hidden
     * tab.
     */
    #plan() {
      clearTimeout(this.#timer)
      if (!this.isConnected || document.hidden) return
      const period = REFRESH_MS * (1 - JITTER + 2 * JITTER * Math.random())
      const wait = Math.max(0, this.#refreshedAt + period - performance.now())
      this.#timer = setTimeout(() => this.#refresh(), wait)
    }

    async #refresh() {
      this.#refreshedAt = performance.now()
      this.#request?.abort()
      const request = (this.#request = new AbortController())
      const timeout = setTimeout(() => request.abort(), TIMEOUT_MS)
      try {
        const response = await fetch(this.getAttribute('src') || '/activity', {
          signal: request.signal,
        })
        /** @type {Answer} */
        const figures = response.ok ? await response.json() : undefined
        if (request === this.#request) this.#show(figures)
      } catch {
        if (request === this.#request) this.#show(undefined)
      }
      clearTimeout(timeout)
      if (request === this.#request) this.#plan()
    }

    /**
     * Shows the figures, with their time where they are old; where they are none, marks those shown
     * as stale.
     *
     * @param {Answer} figures
     */
    #show(figures) {
      const good = areFigures(figures)
      this.#line.part.toggle('stale', !good || figures.stale === true)
      if (!good) return
      const [visitors, ofVisitors] = counted(figures.visitors, 'visitor')
      const [views, ofViews] = counted(figures.pageViews, 'page view')
      const length = span(figures.windowSeconds)
      const window = figures.stale
        ? ` in the ${length} before ${times.format(new Date(figures.asOf))}`
        : ` in the last ${length}`
      this.#before.remove()
      this.#text = `${visitors}${ofVisitors}, ${views}${ofViews}${window}`
      this.#line.replaceChildren(
        part('span', 'number', visitors),
        `${ofVisitors}, `,
        part('span', 'number', views),
        `${ofViews}${window}`,
      )
      this.#announce()
    }

    /** Speaks of a change; the figures that came with the page are read with the page. */
    #announce() {
      const now = performance.now()
      if (this.#announcedText === '') {
        this.#announcedText = this.#text
        this.#announcedAt = now
      }
      if (this.#text === this.#announcedText || now - this.#announcedAt < ANNOUNCE_MS) return
      this.#announcedText = this.#text
      this.#announcedAt = now
      this.#status.textContent = this.#text
      clearTimeout(this.#silence)
      this.#silence = setTimeout(() => this.#status.replaceChildren(), ANNOUNCED_MS)
    }
  }

  customElements.define(NAME, SiteActivity)
})()
