/**
 * Brings tables into Markdown files. Where a table stands, a file has two lines:
 *
 *     <!-- figures: losses -->
 *     <!-- /figures -->
 *
 * What is between them is written by `npm run figures`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../harness/git.js'
import { compact } from '../harness/table.js'
import { EarlierForm, type Read } from './measured.js'
import { TABLES } from './tables.js'

const BEGIN = /^<!--\s*figures:\s*(\S*)\s*-->\s*$/
const END = /^<!--\s*\/figures\s*-->\s*$/

/** Has every table. */
export const ALL_TABLES = 'bench/results/tables.md'

/**
 * The README, all Markdown files of `docs/`, and the page of all tables. `file`: from the root of
 * the project.
 */
export function pages() {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .sort()
  const files = [
    'README.md',
    ...docs.map((file) => `docs/${file.replaceAll('\\', '/')}`),
    ALL_TABLES,
  ]
  return files.map((file) => {
    const path = join(ROOT, file)
    return { file, path, text: readFileSync(path, 'utf8') }
  })
}

/** `text` with the tables that it asks for. @throws Error that names the file and the line */
export function render({ file, text }: { file: string; text: string }, read: Read): string {
  const rendered: string[] = []
  let open: string | undefined
  text.split('\n').forEach((line, index) => {
    const place = `${file}:${index + 1}`
    const name = BEGIN.exec(line)?.[1]
    if (name !== undefined) {
      if (open) {
        throw new Error(
          `${open}: <!-- /figures --> is missing before the next table at line ${index + 1}`,
        )
      }
      open = place
      rendered.push(line, '', ...table(name, place, read), '')
    } else if (END.test(line)) {
      if (!open) throw new Error(`${place}: <!-- /figures --> ends a table that did not begin`)
      open = undefined
      rendered.push(line)
    } else if (!open) rendered.push(line)
  })
  if (open) throw new Error(`${open}: <!-- /figures --> is missing`)
  return rendered.join('\n')
}

/** The names of the tables that a text asks for. */
export function tablesIn(text: string): string[] {
  return text.split('\n').flatMap((line) => BEGIN.exec(line)?.[1] ?? [])
}

/**
 * The first line in which two texts of a file differ, as a sentence; nothing if they are the same.
 */
export function difference(file: string, is: string, shouldBe: string): string | undefined {
  if (is === shouldBe) return undefined
  const [found, wanted] = [is.split('\n'), shouldBe.split('\n')]
  const at = wanted.findIndex((line, index) => line !== found[index])
  return (
    `${file}:${at + 1} differs from bench/results; run \`npm run figures\`\n  it says   ` +
    `  ${found[at] ?? ''}\n  it should   ${wanted[at] ?? ''}`
  )
}

function table(name: string, place: string, read: Read): string[] {
  const figures = TABLES.get(name)
  if (!figures) {
    throw new Error(
      `${place}: there is no table "${name}"; there are ${[...TABLES.keys()].join(', ')}`,
    )
  }
  try {
    const { title, rows } = figures(read)
    return [...(title ? [title, ''] : []), ...(rows.length === 0 ? ['None.'] : compact(rows))]
  } catch (cause) {
    if (cause instanceof EarlierForm) return [`Not measured yet: ${cause.message}.`]
    throw new Error(`${place}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
  }
}
