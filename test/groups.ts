/**
 * Test files that share a process: those of one folder under `src/`, the laws of orders, and
 * those of readers.
 * Loading the package takes longer than many of them run.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Two runs at once in one folder have a folder for groups each. */
const NAME = `tmp/tests-${process.pid}`
const FOLDER = new URL(`../${NAME}/`, import.meta.url)

/**
 * The files to run. A group is a file that imports its members.
 *
 * @param files paths from the root of the project
 * @param first files and folders of groups that begin first, in this order. A file among them has a
 *   process of its own
 */
export function grouped(files: readonly string[], first: readonly string[]): string[] {
  const groups = new Map<string, string[]>(first.map((name) => [name, []]))
  for (const file of files) {
    const folder = /^(?:src\/[\w-]+|test\/(?:orders|readers))(?=\/)/.exec(file)?.[0]
    const group = groups.has(file) ? file : (folder ?? file)
    groups.set(group, [...(groups.get(group) ?? []), file])
  }
  mkdirSync(FOLDER, { recursive: true })
  process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }))
  return [...groups].flatMap(([group, members]) => {
    if (members.length <= 1) return members
    const name = `${group.replaceAll('/', '-')}.test.js`
    writeFileSync(
      new URL(name, FOLDER),
      ['test/whole-group.ts', ...members].map((file) => `import '../../${file}'\n`).join(''),
    )
    return join(NAME, name)
  })
}
