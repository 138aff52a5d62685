/** The Markdown files that readers read. */
import { readdirSync, readFileSync } from 'node:fs'

const ROOT = new URL('../../', import.meta.url)

export interface Page {
  /** From the root of the project. */
  readonly file: string
  readonly text: string
}

/** Generated from the docstrings: `npm run api`. */
export const API_REFERENCE = 'docs/api/'

/** The README, the other pages of the project, and the docs. */
export function pages(): Page[] {
  const others = readdirSync(ROOT)
    .filter((file) => file.endsWith('.md'))
    .sort()
  return [
    ...[...others, 'bench/README.md', 'deploy/README.md', 'examples/view-counts/README.md'].map(
      pageOf,
    ),
    ...docs(),
  ]
}

/** The files of `docs/`. */
export function docs(): Page[] {
  return readdirSync(new URL('docs/', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .sort()
    .map((file) => pageOf(`docs/${file}`))
}

/** The files of `docs/` that people have written. */
export function writtenDocs(): Page[] {
  return docs().filter(({ file }) => !file.startsWith(API_REFERENCE))
}

/** @throws Error if there is no such file */
export function pageOf(file: string): Page {
  return { file, text: readFileSync(new URL(file, ROOT), 'utf8') }
}

/** A text without its fenced blocks of code. */
export function withoutBlocks(text: string): string {
  return text.replace(/^(`{3,}|~{3,}).*\n(?:.*\n)*?\1 *$/gm, '')
}
