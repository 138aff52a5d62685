/**
 * <site-activity src="/activity">: shows "12 visitors, 345 page views in the last 10 minutes" and
 * keeps it up to date. What the page puts inside the element is shown until there are figures.
 *
 * No dependencies, no inline style or script, no HTML from strings: it runs under
 * `default-src 'none'; script-src 'self'; connect-src 'self'`. Colours and font are the page's,
 * dark or light; `--site-activity-*` below and the parts `figures`, `number` and `stale` change the
 * looks. Words and numbers are in the language of the page, by `lang`; `text` gives other words.
 * Each answer is also an event `figures`, with the figures in its `detail`. With the attribute
 * `seen` the element loads `seen.js`, which reports the views of the page.
 *
 * @typedef {{ visitors: number, pageViews: number, windowSeconds: number, asOf: string,
 *   stale: boolean }} Figures
 * @typedef {Partial<Figures> | null | undefined} Answer what the endpoint has said, if it has
 * @typedef {{ text: string, hour: string, minute: string, second: string,
 *   before: (window: string, time: string) => string }} Words
 * @typedef {{ tag: string, own: boolean, language: string, words: Words, plurals: Intl.PluralRules,
 *   numbers: Intl.NumberFormat, times: Intl.DateTimeFormat }} Speaker
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

  /**
   * Words by language: visitors and page views by plural form; the window by unit, as one and many;
   * and the same with the time at which old figures end. "#" is the number. The third form is for
   * whole millions: "1 000 000 de visiteurs".
   *
   * @satisfies {Record<string, Words>}
   */
  const WORDS = {
    en: {
      text: '{visitors|visitor|visitors}, {pageViews|page view|page views} {window}',
      hour: 'in the last hour|in the last # hours',
      minute: 'in the last minute|in the last # minutes',
      second: 'in the last second|in the last # seconds',
      before: (window, time) => `${window.replace('last ', '')} before ${time}`,
    },
    de: {
      text: '{visitors|Besucher|Besucher}, {pageViews|Seitenaufruf|Seitenaufrufe} {window}',
      hour: 'in der letzten Stunde|in den letzten # Stunden',
      minute: 'in der letzten Minute|in den letzten # Minuten',
      second: 'in der letzten Sekunde|in den letzten # Sekunden',
      before: (window, time) => `${window.replace('letzten ', '')} vor ${time}`,
    },
    fr: {
      text:
        '{visitors|visiteur|visiteurs|de visiteurs}, ' +
        '{pageViews|page vue|pages vues|de pages vues} {window}',
      hour: 'dans la dernière heure|dans les # dernières heures',
      minute: 'dans la dernière minute|dans les # dernières minutes',
      second: 'dans la dernière seconde|dans les # dernières secondes',
      before: (window, time) => `${window.replace(/dernières? /, '')} avant ${time}`,
    },
    es: {
      text:
        '{visitors|visitante|visitantes|de visitantes}, ' +
        '{pageViews|página vista|páginas vistas|de páginas vistas} {window}',
      hour: 'en la última hora|en las últimas # horas',
      minute: 'en el último minuto|en los últimos # minutos',
      second: 'en el último segundo|en los últimos # segundos',
      before: (window, time) => `${window} (hora: ${time})`,
    },
    pt: {
      text:
        '{visitors|visitante|visitantes|de visitantes}, ' +
        '{pageViews|página vista|páginas vistas|de páginas vistas} {window}',
      hour: 'na última hora|nas últimas # horas',
      minute: 'no último minuto|nos últimos # minutos',
      second: 'no último segundo|nos últimos # segundos',
      before: (window, time) => `${window} (hora: ${time})`,
    },
    it: {
      text:
        '{visitors|visitatore|visitatori|di visitatori}, ' +
        '{pageViews|pagina vista|pagine viste|di pagine viste} {window}',
      hour: "nell'ultima ora|nelle ultime # ore",
      minute: "nell'ultimo minuto|negli ultimi # minuti",
      second: "nell'ultimo secondo|negli ultimi # secondi",
      before: (window, time) => `${window} (ore ${time})`,
    },
    nl: {
      text: '{visitors|bezoeker|bezoekers}, {pageViews|paginaweergave|paginaweergaven} {window}',
      hour: 'in het afgelopen uur|in de afgelopen # uur',
      minute: 'in de afgelopen minuut|in de afgelopen # minuten',
      second: 'in de afgelopen seconde|in de afgelopen # seconden',
      before: (window, time) => `${window.replace('afgelopen ', '')} voor ${time}`,
    },
  }
  const UNITS = /** @type {const} */ ([
    [3600, 'hour'],
    [60, 'minute'],
  ])
  /** `{visitors}`, `{visitors|reader|readers}`; no form has a brace. */
  const PLACE = /\{(\w+)(?:\|([^{}]*))?\}/
  const FORMS = ['one', 'other', 'many']

  /**
   * What formats in a language: its numbers and times, and our words of it or the English ones. Our
   * words are in the Latin script, and so are their digits; the site's own have the language's.
   *
   * @param {string} tag
   * @param {boolean} own whether the words are the site's own
   * @returns {Speaker}
   */
  function speaker(tag, own) {
    const locale = localeOf(tag)
    const base = locale.split('-')[0]
    const language = isOurs(base) ? base : 'en'
    const digits = own ? {} : { numberingSystem: 'latn' }
    return {
      tag,
      own,
      language,
      words: WORDS[language],
      plurals: new Intl.PluralRules(own ? locale : language),
      numbers: new Intl.NumberFormat(locale, digits),
      times: new Intl.DateTimeFormat(locale, {
        ...digits,
        hour: '2-digit',
        minute: '2-digit',
        hourCycle: 'h23',
      }),
    }
  }

  /** @param {string | undefined} language @returns {language is keyof typeof WORDS} */
  function isOurs(language) {
    return language !== undefined && Object.hasOwn(WORDS, language)
  }

  /**
   * The language tag, in the form that Intl wants; English where it is none. @param {string} tag
   */
  function localeOf(tag) {
    try {
      return Intl.getCanonicalLocales(tag.replaceAll('_', '-'))[0] ?? 'en'
    } catch {
      return 'en'
    }
  }

  /**
   * "one|other|many", or each with its plural category before it: "one: x|few: y|other: z".
   *
   * @param {string[]} forms @param {Intl.PluralRules} rules @param {number} count
   */
  function formOf(forms, rules, count) {
    const category = rules.select(count)
    const named = forms.map((form) => /^\s*(zero|one|two|few|many|other):\s*(.*)$/s.exec(form))
    const other = named.find((form) => form?.[1] === 'other')
    if (other) return (named.find((form) => form?.[1] === category) ?? other)[2]
    return forms[FORMS.indexOf(category)] ?? forms[1] ?? forms[0]
  }

  /**
   * "in the last 10 minutes", or "in the 10 minutes before 12:00"
   *
   * @param {Speaker} speaker @param {number} seconds @param {string} time
   */
  function windowOf({ words, numbers }, seconds, time) {
    const [size, unit] = UNITS.find(([size]) => seconds % size === 0) ?? [1, 'second']
    const count = seconds / size
    const [one = '', many = one] = words[unit].split('|')
    const window = count === 1 ? one : many.replace('#', numbers.format(count))
    return time ? words.before(window, time) : window
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

  /** The language of an element: its own, or that of what it is in. @param {Element} element */
  function languageOf(element) {
    /** @type {Element | undefined} */
    let at = element
    while (at) {
      /** @type {HTMLElement | null} */
      const nearest = at.closest('[lang]')
      if (nearest) return nearest.lang
      const root = at.getRootNode()
      at = root instanceof ShadowRoot ? root.host : undefined
    }
    return ''
  }

  class SiteActivity extends HTMLElement {
    static observedAttributes = ['src', 'text', 'lang']

    #before = document.createElement('slot')
    #line = part('span', 'figures')
    #status = document.createElement('span')
    /** @type {Figures | undefined} */
    #figures
    #good = false
    /** @type {Speaker | undefined} */
    #speaker
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
    #onOnline = () => this.#refreshSoon()

    constructor() {
      super()
      const root = this.attachShadow({ mode: 'open' })
      root.adoptedStyleSheets = [sheet]
      // The words run in their own direction, whatever that of the page is.
      this.#line.dir = 'auto'
      this.#status.role = 'status'
      this.#status.ariaLive = 'polite'
      root.append(this.#before, this.#line, this.#status)
    }

    connectedCallback() {
      document.addEventListener('visibilitychange', this.#onVisibility)
      addEventListener('online', this.#onOnline)
      this.#plan()
      if (this.hasAttribute('seen')) this.#reportViews()
    }

    disconnectedCallback() {
      document.removeEventListener('visibilitychange', this.#onVisibility)
      removeEventListener('online', this.#onOnline)
      clearTimeout(this.#timer)
      this.#abandon()
    }

    /** A browser runs the module once in a page, however often it is asked to. */
    #reportViews() {
      const script = `${this.#source.replace(/\/$/, '')}/seen.js`
      import(new URL(script, document.baseURI).href).catch(() => undefined)
    }

    get #source() {
      return this.getAttribute('src') || '/activity'
    }

    /** @param {string} name */
    attributeChangedCallback(name) {
      if (name === 'src') this.#refreshSoon()
      else this.#render()
    }

    #refreshSoon() {
      this.#refreshedAt = -Infinity
      this.#abandon()
      this.#plan()
    }

    /** An element that is moved in the page asks again for what it was waiting for. */
    #abandon() {
      if (this.#request) this.#refreshedAt = -Infinity
      this.#request?.abort()
      this.#request = undefined
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
      this.#abandon()
      this.#refreshedAt = performance.now()
      const request = (this.#request = new AbortController())
      const timeout = setTimeout(() => request.abort(), TIMEOUT_MS)
      try {
        const response = await fetch(this.#source, { signal: request.signal })
        /** @type {Answer} */
        const figures = response.ok ? await response.json() : undefined
        if (request === this.#request) this.#show(figures)
      } catch {
        if (request === this.#request) this.#show(undefined)
      }
      clearTimeout(timeout)
      if (request !== this.#request) return
      this.#request = undefined
      this.#plan()
    }

    /**
     * Takes the answer: new figures, or the last ones again, which are then old.
     *
     * @param {Answer} figures
     */
    #show(figures) {
      this.#good = areFigures(figures)
      if (areFigures(figures)) this.#figures = figures
      this.#render()
      if (!this.#good) return
      this.dispatchEvent(
        new CustomEvent('figures', { detail: { ...figures }, bubbles: true, composed: true }),
      )
    }

    /** Writes the line; old figures are marked, and have their time. */
    #render() {
      const figures = this.#figures
      if (!figures) return
      const stale = !this.#good || figures.stale === true
      this.#line.part.toggle('stale', stale)
      const [tag, own] = [languageOf(this), this.hasAttribute('text')]
      if (this.#speaker?.tag !== tag || this.#speaker.own !== own) this.#speaker = speaker(tag, own)
      this.#line.lang = own ? tag : this.#speaker.language
      const pieces = this.#pieces(this.#speaker, figures, stale)
      this.#before.remove()
      this.#line.replaceChildren(...pieces)
      this.#text = this.#line.textContent
      this.#announce()
    }

    /** @param {Speaker} speaker @param {Figures} figures @param {boolean} stale */
    #pieces(speaker, figures, stale) {
      const { words, numbers, times, plurals } = speaker
      const at = new Date(figures.asOf)
      const time = Number.isNaN(at.getTime()) ? '' : times.format(at)
      const pieces = []
      let timed = false
      let rest = this.getAttribute('text') ?? words.text
      for (
        let found;
        (found = PLACE.exec(rest));
        rest = rest.slice(found.index + found[0].length)
      ) {
        const [whole, name, forms] = found
        pieces.push(rest.slice(0, found.index))
        if (name === 'visitors' || name === 'pageViews') {
          const count = figures[name]
          pieces.push(part('span', 'number', numbers.format(count)))
          if (forms !== undefined) pieces.push(` ${formOf(forms.split('|'), plurals, count)}`)
        } else if (name === 'window' || name === 'time') {
          timed = true
          pieces.push(
            name === 'time'
              ? time
              : this.#window(speaker, figures.windowSeconds, stale ? time : ''),
          )
        } else pieces.push(whole)
      }
      pieces.push(rest)
      if (stale && !timed && time) pieces.push(` (${time})`)
      return pieces
    }

    /**
     * The window, in its own direction: within Arabic words it may be English.
     *
     * @param {Speaker} speaker @param {number} seconds @param {string} time
     */
    #window(speaker, seconds, time) {
      const window = document.createElement('bdi')
      window.lang = speaker.language
      window.append(windowOf(speaker, seconds, time))
      return window
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
