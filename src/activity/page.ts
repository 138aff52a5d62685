/**
 * What is stored as a visit's page: whatever a client can send comes out as valid text of at most
 * {@link MAX_PAGE_BYTES} bytes that every database takes.
 */

/** Bytes of UTF-8. */
export const MAX_PAGE_BYTES = 1024

/** Nearly every page is this, and stays as it is. */
const PLAIN = /^[\x20-\x7e]*$/

/** Control characters (NUL, CR, LF …), and surrogates that have lost their other half. */
const UNFIT = /[\p{Cc}\p{Cs}]/gu

/** `http://host` before the path: HTTP lets a client send the whole address (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

const encoder = new TextEncoder()
const scratch = new Uint8Array(MAX_PAGE_BYTES)

/**
 * The path of a request's target, without query and without host, as it was sent (percent-encoded).
 */
export function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(ORIGIN, '')
  return upTo('#', upTo('?', path)) || '/'
}

function upTo(mark: string, text: string): string {
  const end = text.indexOf(mark)
  return end === -1 ? text : text.slice(0, end)
}

/**
 * `text` as it is stored: unfit characters become U+FFFD, and what is too long is cut between two
 * characters.
 */
export function pageOf(text: string): string {
  if (text.length <= MAX_PAGE_BYTES && PLAIN.test(text)) return text
  // A UTF-16 unit takes a byte at least, so what lies beyond is cut in any case.
  const fit = text.slice(0, MAX_PAGE_BYTES).replace(UNFIT, '\ufffd')
  const { read } = encoder.encodeInto(fit, scratch)
  return fit.slice(0, read)
}
