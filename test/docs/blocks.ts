/** The fenced code blocks of a Markdown file. */

/**
 * A block, as printed. The comment `<!-- continues -->` on the line before it says that it goes on
 * from the nearest block of code before it in its file; then that one's text, and what that goes on
 * from, comes first when it runs.
 */
export interface Block {
  readonly file: string
  /** Number of its first line of text, from 1. */
  readonly line: number
  /** `js` of ```` ```js ````; empty where none is named. */
  readonly language: string
  readonly text: string
  /** Block that it continues, if it says so. */
  readonly continues: Block | undefined
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/
const CONTINUES = /^<!--\s*continues\s*-->$/
/** Languages of blocks that can be continued. */
const CODE = ['js', 'ts', 'sql']

/** @throws Error for a block without an end, and for one that continues nothing */
export function blocksIn(file: string, markdown: string): Block[] {
  const blocks: Block[] = []
  const lines = markdown.split('\n')
  let lastWords = ''
  for (let index = 0; index < lines.length; index++) {
    const [, fence, language = ''] = FENCE.exec(lines[index]!) ?? []
    if (fence === undefined) {
      lastWords = lines[index]!.trim() || lastWords
      continue
    }
    const line = index + 2
    const end = lines.findIndex((text, at) => at > index && isEnd(text, fence))
    if (end === -1) throw new Error(`${file}:${line - 1}: this block has no end`)
    const continues = CONTINUES.test(lastWords)
      ? blocks.findLast((block) => CODE.includes(block.language))
      : undefined
    if (CONTINUES.test(lastWords) && !continues) {
      throw new Error(`${file}:${line - 1}: there is no block before it that it could continue`)
    }
    blocks.push({ file, line, language, text: lines.slice(index + 1, end).join('\n'), continues })
    lastWords = ''
    index = end
  }
  return blocks
}

/** A block, and before it all that it goes on from. */
export function chainOf(block: Block): Block[] {
  return block.continues ? [...chainOf(block.continues), block] : [block]
}

export function textOf(blocks: readonly Block[]): string {
  return blocks.map(({ text }) => text).join('\n')
}

/**
 * As one source, each line where it stands in the file, so that an error names the line to look at.
 */
export function sourceOf(blocks: readonly Block[]): string {
  const lines: string[] = []
  for (const { line, text } of blocks) {
    text.split('\n').forEach((one, index) => {
      lines[line - 1 + index] = one
    })
  }
  return Array.from(lines, (line) => line ?? '').join('\n')
}

function isEnd(text: string, fence: string): boolean {
  const trimmed = text.trim()
  return trimmed.length >= fence.length && [...trimmed].every((character) => character === fence[0])
}
