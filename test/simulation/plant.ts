import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isForTests } from '../sources.js'
import type { Replacement } from './planted-bug.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The folders of `src` that the simulations use. */
const SIMULATED = [
  'cache',
  'connections',
  'database',
  'metrics',
  'sequence',
  'support',
  'wide-cache',
]

/** Makes a copy of what is simulated with something replaced, for as long as `use` runs. */
export async function withReplaced<T>(
  replacements: readonly Replacement[],
  use: (source: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'wide-cache-planted-'))
  try {
    for (const part of SIMULATED) {
      cpSync(join(ROOT, 'src', part), join(folder, 'src', part), {
        recursive: true,
        filter: (path) => !isForTests(path),
      })
    }
    cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    for (const { file, find, replace } of replacements) {
      const path = join(folder, 'src/wide-cache', file)
      const text = readFileSync(path, 'utf8')
      const pattern = anyLayout(find)
      const times = [...text.matchAll(pattern)].length
      if (times !== 1) {
        throw new Error(
          `What is to be replaced must be in ${file} once, and is there ${times} times: ${find}`,
        )
      }
      writeFileSync(
        path,
        text.replace(pattern, () => replace),
      )
    }
    return await use(join(folder, 'src'))
  } finally {
    rmSync(folder, { recursive: true })
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
