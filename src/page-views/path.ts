/** `http://host` before the path: HTTP lets a client send the whole address (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

/** The path of a request's target, without query and without host, as it was sent. */
export function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(ORIGIN, '')
  return upTo('#', upTo('?', path)) || '/'
}

function upTo(mark: string, text: string): string {
  const end = text.indexOf(mark)
  return end === -1 ? text : text.slice(0, end)
}
