/** A badge: a label and a number, as an image without scripts or styles, which any CSP allows. */

const HEIGHT = 20
const MARGIN = 6
const FONT_SIZE = 11

/** Pixels of a character: about those of Verdana at 11 px, and of CJK characters. */
const NARROW = 7
const WIDE = 11
const FIRST_WIDE = 0x2e80

const LABEL_COLOR = '#555555'
const COUNT_COLOR = '#0a6ebd'

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** An SVG of `label` and `hits`, without scripts, styles or links. */
export function badgeOf(label: string, hits: number): string {
  const [left, right] = [fieldOf(label), fieldOf(String(hits))]
  const width = left.width + right.width
  const name = `${left.text}: ${right.text}`
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" ` +
    `viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${name}"><title>${name}</title>` +
    `<rect width="${left.width}" height="${HEIGHT}" fill="${LABEL_COLOR}"/>` +
    `<rect x="${left.width}" width="${right.width}" height="${HEIGHT}" fill="${COUNT_COLOR}"/>` +
    `<g fill="#ffffff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" ` +
    `font-size="${FONT_SIZE}">${textAt(MARGIN, left)}` +
    `${textAt(left.width + MARGIN, right)}</g></svg>`
  )
}

interface Field {
  /** Escaped. */
  readonly text: string
  readonly textWidth: number
  readonly width: number
}

function fieldOf(text: string): Field {
  // XML takes neither control characters nor half a surrogate pair, not even escaped.
  const fit = text.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, '\ufffd')
  let textWidth = 0
  for (const character of fit) {
    textWidth += character.codePointAt(0)! < FIRST_WIDE ? NARROW : WIDE
  }
  return {
    text: fit.replace(/[&<>"']/g, (character) => ESCAPES[character]!),
    textWidth,
    width: textWidth + 2 * MARGIN,
  }
}

/** Fitted to its width, because fonts differ. */
function textAt(x: number, { text, textWidth }: Field): string {
  return (
    `<text x="${x}" y="14" textLength="${textWidth}" lengthAdjust="spacingAndGlyphs">` +
    `${text}</text>`
  )
}
