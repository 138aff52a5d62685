import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Replacement } from './planted-bug.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The sources, and what they need beside them. */
const LINKED = ['package.json', 'node_modules']

/**
 * Makes a folder like `src` with `replacements`, for as long as `use` runs. All other files are
 * links; without replacements, `src` itself is one. Imports do not follow links, so that each
 * module belongs to the folder: see `scripts/typescript/source.js`.
 */
export async function withReplaced<T>(
  replacements: readonly Replacement[],
  use: (source: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'wide-cache-planted-'))
  try {
    for (const name of LINKED) symlinkSync(join(ROOT, name), join(folder, name))
    write('src', folder, textsOf(replacements))
    return await use(join(folder, 'src'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The new text of each file, by its path from the root of the project. */
function textsOf(replacements: readonly Replacement[]): Map<string, string> {
  const texts = new Map<string, string>()
  for (const { file, find, replace } of replacements) {
    const path = normalize(join('src/wide-cache', file))
    const text = texts.get(path) ?? readFileSync(join(ROOT, path), 'utf8')
    const pattern = anyLayout(find)
    const times = [...text.matchAll(pattern)].length
    if (times !== 1) {
      throw new Error(
        `What is to be replaced must be in ${file} once, and is there ${times} times: ${find}`,
      )
    }
    texts.set(
      path,
      text.replace(pattern, () => replace),
    )
  }
  return texts
}

/** Makes `path` in `folder`: a new text, or a link, or a folder that has a new text in it. */
function write(path: string, folder: string, texts: ReadonlyMap<string, string>): void {
  const at = join(folder, path)
  const text = texts.get(path)
  if (text !== undefined) {
    writeFileSync(at, text)
  } else if ([...texts.keys()].some((changed) => changed.startsWith(`${path}/`))) {
    mkdirSync(at)
    for (const name of readdirSync(join(ROOT, path))) write(`${path}/${name}`, folder, texts)
  } else {
    symlinkSync(join(ROOT, path), at)
  }
}

/** Matches `code` however the formatter has broken its lines. */
function anyLayout(code: string): RegExp {
  const characters = [...code.replaceAll(/\s+/g, '')]
  const escaped = characters.map(
    (character) => (/[)\]}]/.test(character) ? ',?\\s*' : '') + character.replace(/[^\w]/, '\\$&'),
  )
  return new RegExp(escaped.join('\\s*'), 'g')
}
