/**
 * Turns anything that a client can send into valid text of bounded length that every database
 * takes.
 */

/** Nearly every text is this, and stays as it is. */
const PLAIN = /^[\x20-\x7e]*$/

/** Control characters (NUL, CR, LF …), and surrogates that have lost their other half. */
const UNFIT = /[\p{Cc}\p{Cs}]/gu

const MAX_BYTES = 1024

const encoder = new TextEncoder()
const scratch = new Uint8Array(MAX_BYTES)

/**
 * Replaces unfit characters by U+FFFD, and cuts the text between two characters so that it takes at
 * most `maxBytes` bytes of UTF-8. At most 1,024.
 */
export function fitText(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && PLAIN.test(text)) return text
  // A UTF-16 unit takes a byte at least, so what lies beyond is cut in any case.
  const fit = text.slice(0, maxBytes).replace(UNFIT, '\ufffd')
  const { read } = encoder.encodeInto(fit, scratch.subarray(0, maxBytes))
  return fit.slice(0, read)
}
