/**
 * Characters that a terminal obeys instead of showing: controls, marks of direction, line
 * separators, and halves of a surrogate pair.
 */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** A text from outside on one line that is safe to print: such characters become `\u{1b}`. */
export function printable(text: string): string {
  return text.replace(OBEYED, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

/** A value as JSON on one line that is safe to print. It reads back as the same value. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(OBEYED, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** Returns a number with its noun: `1 frame`, `2 frames`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
