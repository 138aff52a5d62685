// What a forum computes for each view of a thread: twenty posts from strings to HTML, every text
// escaped.
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const POSTS = Array.from({ length: 20 }, (_, i) => ({
  author: `anna "${i}" o'hara`,
  time: 1_700_000_000_000 + i * 61_000,
  text: `Post ${i}: does a < b && b < c still hold? `.repeat(6),
}))

const escape = (text) => text.replace(/[&<>"]/g, (character) => ENTITIES[character])

const post = ({ author, time, text }) =>
  `<article><h2>${escape(author)}</h2><time ` +
  `datetime="${new Date(time).toISOString()}"></time><p>${escape(text)}</p></article>`

/** The page, computed so many times over: how a small page is given the work of a bigger one. */
export function render(times) {
  let html = ''
  for (let i = 0; i < times; i++) {
    html = `<!doctype html><title>A thread</title>${POSTS.map(post).join('')}`
  }
  return html
}

/**
 * How many renderings take `ms` of CPU on this machine: by the quickest of many, the one least
 * disturbed.
 */
export function renderingsIn(ms) {
  const BATCH = 10
  let quickest = Infinity
  for (let i = 0; i < 200; i++) {
    const began = performance.now()
    render(BATCH)
    quickest = Math.min(quickest, (performance.now() - began) / BATCH)
  }
  return Math.max(1, Math.round(ms / quickest))
}
