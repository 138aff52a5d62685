/** The tests near a source, by who imports whom: some files of a hundred, so they are quick. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isForTests } from '../sources.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The most files that are near: more would not be quick. */
const MOST = 6
/** Folders of laws, which speak of what the code promises. */
const LAWS = ['test/orders', 'test/readers', 'test/looks', 'test/errors', 'test/merges']
/** Folders by what works through them: its laws are theirs, too. */
const UNDER: Readonly<Record<string, readonly string[]>> = {
  buckets: ['collision-free-map', 'export-queue'],
}

/** Test files below `folder` of the project, in order, without `others`; paths from its root. */
export function filesOf(folder: string, ...others: readonly string[]): string[] {
  if (!existsSync(join(ROOT, folder))) return []
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.test.ts'))
    .sort()
  for (const other of others) {
    if (!files.includes(other)) throw new RangeError(`There is no ${folder}/${other}`)
  }
  return files.filter((file) => !others.includes(file)).map((file) => `${folder}/${file}`)
}

/** By each file below `src`, without its ending, the files there that import it. */
const importers = importersOf(
  readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .map((file) => `src/${file.replaceAll('\\', '/')}`)
    .filter((file) => file.endsWith('.ts')),
)

function importersOf(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    for (const [, from] of text.matchAll(/^(?:import|export|\}) (?!type ).*'(\.[^']+)'$/gm)) {
      const path = withoutEnding(normalize(join(dirname(file), from!)).replaceAll('\\', '/'))
      found.set(path, [...(found.get(path) ?? []), file])
    }
  }
  return found
}

/**
 * The test file that has the name of a source, and those that import it, those of its own folder if
 * there are some. If there is none, those that import what imports it.
 *
 * @param source path below `src`
 * @param others too slow, but for the test that has the name of the source
 */
export function testsNear(source: string, others: readonly string[]): string[] {
  const path = `src/${withoutEnding(source)}`
  for (let level = [path], seen = new Set(level); level.length > 0;) {
    const named = level.map((one) => `${one}.test.ts`)
    const besides = level.length === 1 ? named.filter((file) => existsSync(join(ROOT, file))) : []
    const found = [...new Set([...besides, ...level.flatMap(testsThatImport)])].sort()
    const quick = found.filter((file) => !others.includes(file) || file === `${path}.test.ts`)
    const own = quick.filter((file) => file.startsWith(`src/${source.split('/')[0]}/`))
    const near = own.length > 0 ? own : quick
    const nearest = near.length <= MOST ? near : near.filter((file) => named.includes(file))
    if (nearest.length > 0) return nearest.slice(0, MOST)
    level = [...new Set(level.flatMap((one) => importers.get(one) ?? []).map(withoutEnding))]
    level = level.filter((one) => !seen.has(one) && !isForTests(`${one}.ts`))
    seen = new Set([...seen, ...level])
  }
  return []
}

/**
 * The laws of a folder below `src`, and of those that work through it: the files that import of it,
 * or whose helpers do.
 */
export function lawsOf(folder: string): string[] {
  const importsOf = (file: string): string[] =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/ from '(\.[^']+)\.js'$/gm)].map(
      ([, from]) => `${normalize(join(dirname(file), from!)).replaceAll('\\', '/')}.ts`,
    )
  const folders = [folder, ...(UNDER[folder] ?? [])]
  return LAWS.flatMap((laws) => filesOf(laws)).filter((file) =>
    importsOf(file)
      .flatMap((one) => (dirname(one) === dirname(file) ? importsOf(one) : one))
      .some((one) => folders.some((name) => one.startsWith(`src/${name}/`))),
  )
}

function testsThatImport(path: string): string[] {
  return (importers.get(path) ?? []).flatMap((file) =>
    file.endsWith('.test.ts')
      ? [file]
      : isForTests(file)
        ? testsThatImport(withoutEnding(file))
        : [],
  )
}

function withoutEnding(path: string): string {
  return path.replace(/\.[jt]s$/, '')
}
