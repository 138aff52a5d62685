import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isSource } from '../sources.js'
import type { Mutant } from './mutants.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** `docs` because tests compare it with the sources. The script bundles the sources beside it. */
const COPIED = ['src', 'test', 'sql', 'docs', 'package.json', 'tsconfig.json', 'scripts/assets.js']

/** The compiler has a cache, which must outlive a mutant. */
const LINKED = ['node_modules', 'scripts/typescript', 'deploy']

/** Sources that only a browser runs. They are a target of their own. */
export const IS_IN_BROWSER = /^(?:dashboard\/assets\/.*|activity\/(?:widget|seen))\.js$/

/** Targets that are no folder below `src`, and the folders that they are of. */
const TARGETS: Readonly<Record<string, readonly string[]>> = {
  browser: ['activity', 'dashboard'],
  postgres: ['database/postgres'],
  redis: ['cache/redis'],
}

/** The sources of a target, a folder below `src`, or the one that `part` is, with their texts. */
export function sourcesOf(part: string, root = ROOT): { file: string; text: string }[] {
  const files = /\.[jt]s$/.test(part)
    ? [part]
    : (TARGETS[part] ?? [part]).flatMap((folder) =>
        readdirSync(join(root, 'src', folder), { recursive: true, encoding: 'utf8' })
          .map((file) => `${folder}/${file}`)
          .filter((file) => IS_IN_BROWSER.test(file) === (part === 'browser')),
      )
  return files
    .filter(isSource)
    .sort()
    .map((file) => ({ file, text: readFileSync(join(root, 'src', file), 'utf8') }))
}

/** A copy of the project, in which one mutant at a time takes the place of its file. */
export class Workbench {
  readonly #place = mkdtempSync(join(tmpdir(), 'wide-cache-mutants-'))
  readonly folder = join(this.#place, 'project')
  /** For the files of tests. It is not in the copy, where Node would find the packages from it. */
  readonly temporary = join(this.#place, 'tmp')

  constructor() {
    // Tests start servers as another user, whose files are in the temporary folder.
    chmodSync(this.#place, 0o711)
    mkdirSync(this.folder)
    mkdirSync(this.temporary)
    for (const name of COPIED) {
      cpSync(join(ROOT, name), join(this.folder, name), {
        recursive: true,
        filter: (path) => !path.endsWith('node_modules'),
      })
    }
    for (const name of LINKED) symlinkSync(join(ROOT, name), join(this.folder, name))
  }

  /** Puts the mutant in place while `use` runs. */
  async with<T>(mutant: Mutant, use: () => Promise<T>): Promise<T> {
    const path = join(this.folder, 'src', mutant.file)
    const original = readFileSync(path, 'utf8')
    writeFileSync(path, mutant.text)
    try {
      return await use()
    } finally {
      writeFileSync(path, original)
      this.clear()
    }
  }

  /** Removes what killed tests have left. */
  clear(): void {
    for (const name of readdirSync(this.temporary)) {
      rmSync(join(this.temporary, name), { recursive: true, force: true })
    }
  }

  close(): void {
    rmSync(this.#place, { recursive: true, force: true })
  }
}
