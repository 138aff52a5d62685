// The forum's pages. Whatever a page is made of is escaped by the tag `html`, unless `html` has
// made it.

class Markup {
  constructor(text) {
    this.text = text
  }

  toString() {
    return this.text
  }
}

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escaped(value) {
  if (value instanceof Markup) return value.text
  if (Array.isArray(value)) return value.map(escaped).join('')
  if (value === undefined || value === null || value === false) return ''
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character])
}

function html(strings, ...values) {
  return new Markup(strings.reduce((text, string, i) => text + escaped(values[i - 1]) + string))
}

const ago = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
]

function when(date) {
  const age = Date.now() - date
  const [ms, unit] = UNITS.find(([ms]) => age >= ms) ?? []
  return html`<time datetime="${date.toISOString()}"
    >${unit ? ago.format(-Math.floor(age / ms), unit) : 'just now'}</time
  >`
}

function counted(count, thing, things = `${thing}s`) {
  return `${count.toLocaleString('en')} ${count === 1 ? thing : things}`
}

/**
 * The widget; what is inside it shows until it has figures of its own, and where scripts are off.
 */
function siteActivity(figures) {
  return html`<site-activity src="/activity"
    >${
      figures &&
      html`<span class="figures"
        >${counted(figures.visitors, 'visitor')}, ${counted(figures.pageViews, 'page view')} in the
        last ${counted(figures.windowSeconds / 60, 'minute')}</span
      >`
    }</site-activity
  >`
}

function page(title, figures, content) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/forum.css" />
        <script type="module" src="/activity/widget.js"></script>
      </head>
      <body>
        <header>
          <a class="home" href="/"
            ><img src="/assets/icon.svg" alt="" width="32" height="32" /> The Workbench</a
          >
          ${siteActivity(figures)}
        </header>
        <main>${content}</main>
        <footer>
          A demonstration of wide-cache. The figures above are collected from this site's own
          requests; as JSON: <a href="/activity">/activity</a>. More of them are on the
          <a href="/admin/activity">dashboard</a>, for those who run the site.
        </footer>
      </body>
    </html> `.toString()
}

/** A letter in a circle, its colour by the name. */
function avatar(name) {
  const hue = [...name].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % 6
  return html`<span class="avatar hue-${hue}" aria-hidden="true"
    >${[...name][0]?.toUpperCase()}</span
  >`
}

/** @param views how often each thread has been seen, by its id; of none while that is not known */
export function forumPage(threads, views, figures) {
  return page(
    'The Workbench',
    figures,
    html` <h1>Things made, mended and wondered about</h1>
      <ol class="threads">
        ${threads.map((thread) => {
          const last = thread.posts.at(-1)
          return html` <li>
            ${avatar(thread.posts[0].author)}
            <div class="subject">
              <a href="/threads/${thread.id}">${thread.title}</a>
              <p>${thread.posts[0].author} in <span class="topic">${thread.topic}</span></p>
            </div>
            <p class="replies">
              ${counted(thread.posts.length - 1, 'reply', 'replies')}<br />
              ${counted(views.get(thread.id) ?? 0, 'view')}
            </p>
            <p class="last">${last.author}<br />${when(last.at)}</p>
          </li>`
        })}
      </ol>`,
  )
}

/** A bar for each day that was counted, the last one today. Days before have no figure. */
function history(days) {
  const figures = days.map(({ hits }) => hits ?? 'not counted')
  const most = Math.max(1, ...days.map(({ hits }) => hits))
  return html`<figure class="history">
    <svg
      viewBox="0 0 ${10 * days.length} 40"
      role="img"
      aria-label="Views by day, oldest first: ${figures.join(', ')}"
    >
      ${days.map(({ start, hits }, i) => {
        if (hits === null) return ''
        const height = 1 + Math.round((39 * hits) / most)
        return html`<rect x="${10 * i}" y="${40 - height}" width="8" height="${height}" rx="1">
          <title>Views on ${start.slice(0, 10)}: ${hits.toLocaleString('en')}</title>
        </rect>`
      })}
    </svg>
    <figcaption>Views by day, ${days.length} days</figcaption>
  </figure>`
}

/**
 * @param readers how often the thread has been read, in all and by day; neither known at first
 * @param rejected a reply that was not taken, with the reason, to be mended in the form
 */
export function threadPage(thread, { views, days }, figures, rejected) {
  return page(
    `${thread.title} – The Workbench`,
    figures,
    html` <p class="trail">
        <a href="/">All threads</a> › <span class="topic">${thread.topic}</span> ·
        <span class="views">${counted(views ?? 0, 'view')}</span>
      </p>
      ${days && history(days)}
      <h1>${thread.title}</h1>
      ${thread.posts.map(
        (post) =>
          html` <article class="post" id="reply-${post.number}">
            ${avatar(post.author)}
            <div>
              <p class="byline"><strong>${post.author}</strong> ${when(post.at)}</p>
              ${post.text.split(/\n\s*\n/).map((paragraph) => html`<p>${paragraph}</p>`)}
            </div>
          </article>`,
      )}
      <form method="post" action="/threads/${thread.id}/replies">
        <h2>Reply</h2>
        ${rejected && html`<p class="rejected" role="alert">${rejected.message}</p>`}
        <label
          >Name
          <input
            name="author"
            maxlength="40"
            required
            autocomplete="nickname"
            value="${rejected?.author}"
        /></label>
        <label
          >Text
          <textarea name="text" maxlength="2000" rows="5" required>${rejected?.text}</textarea>
        </label>
        <button>Post reply</button>
      </form>
      <p class="badge">
        A badge for other pages:
        <img src="/badges/${thread.id}.svg" alt="Views of this thread" height="20" />
      </p>`,
  )
}

export function messagePage(title, text, figures) {
  return page(
    `${title} – The Workbench`,
    figures,
    html` <h1>${title}</h1>
      <p>${text} <a href="/">All threads</a></p>`,
  )
}
