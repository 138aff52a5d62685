/**
 * The guard: the working tree beside a commit, on the same machine at the same time. Each part
 * runs in both trees by turns, so that what the machine does falls on both.
 */
import { fork } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'
import { ROOT } from '../harness/git.js'
import type { Mode } from '../harness/part.js'
import { FULL, parse, type Result } from '../harness/result.js'
import { markdown } from '../harness/table.js'
import { build, commitOf, ended, titleOf, workingTree } from './tree.js'
import { type Verdict, verdict } from './verdict.js'

/** A tree that parts can be run in. */
interface Bench {
  readonly name: string
  readonly folder: string
  readonly results: string
  /** Flags of `bench/main.ts`. */
  readonly flags: readonly string[]
}

/**
 * Prints what it finds. `repetitions`: runs of each part in each tree. Resolves to whether
 * something is worse beyond the spread.
 *
 * @throws Error if the commit is unknown, cannot be built, or a part fails in one of the trees
 */
export async function compareAgainst(
  name: string,
  parts: readonly string[],
  mode: Mode,
  repetitions: number,
  signal: AbortSignal,
): Promise<boolean> {
  const commit = commitOf(name)
  const title = titleOf(commit)
  console.log(`Comparing ${workingTree()} with ${title}`)
  const tree = await build(commit, signal)
  try {
    const flags = mode === 'normal' ? [] : [`--${mode}`]
    const then: Bench = {
      name: title.split(' ', 1)[0]!,
      folder: tree.folder,
      results: join(tree.folder, 'bench', 'results'),
      flags,
    }
    const now: Bench = {
      name: 'now',
      folder: ROOT,
      results: tree.scratch,
      flags: [...flags, '--results', tree.scratch],
    }
    const worse: string[] = []
    for (const part of parts) {
      if (!existsSync(join(then.folder, 'bench', 'parts', `${part}.ts`))) {
        console.log(`\n${part}: ${then.name} has no such part\n`)
        continue
      }
      const { table, notes, worse: found } = await compared(part, then, now, repetitions, signal)
      console.log(`\n${markdown(table)}`)
      for (const note of notes) console.log(note)
      worse.push(...found.map((measure) => `${part}: ${measure}`))
    }
    console.log(
      worse.length === 0
        ? '\nNothing is worse beyond the spread'
        : `\nWorse beyond the spread:\n${worse.join('\n')}`,
    )
    return worse.length > 0
  } finally {
    tree.remove()
  }
}

/**
 * A part with something worse runs as often again: of hundreds of measures, a few look worse by
 * chance, and seldom twice.
 */
async function compared(
  part: string,
  then: Bench,
  now: Bench,
  repetitions: number,
  signal: AbortSignal,
): Promise<Verdict> {
  const runs = { then: [] as Result[], now: [] as Result[] }
  const more = async (): Promise<Verdict> => {
    for (let repetition = 0; repetition < repetitions; repetition++) {
      // By turns the one and the other is first.
      for (const bench of repetition % 2 === 0 ? [then, now] : [now, then]) {
        const into = bench === then ? runs.then : runs.now
        console.log(`${part}: run ${into.length + 1}, ${bench.name}`)
        into.push(await ran(part, bench, signal))
      }
    }
    return verdict(runs, then.name)
  }
  const first = await more()
  if (first.worse.length === 0) return first
  console.log(`${part}: ${first.worse.length} measures look worse, so it runs as often again`)
  return more()
}

/**
 * Its claims are not looked at: they are the concern of a run of that tree by itself. @throws Error
 * if it leaves no result
 */
async function ran(part: string, bench: Bench, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted()
  const { folder, results, flags } = bench
  // With `--full` commits keep them in one or the other.
  const files = [results, join(results, FULL)].map((place) => join(place, `${part}.json`))
  for (const file of files) rmSync(file, { force: true })
  const child = fork(join(folder, 'bench', 'main.ts'), [part, ...flags], {
    cwd: folder,
    execArgv: ['--expose-gc', ...TYPESCRIPT],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const { code, said } = await ended(child, signal)
  const file = files.find((file) => existsSync(file))
  if (file === undefined) {
    throw new Error(`${said}\n${part}: the run of ${bench.name} ended with ${code} and no result`)
  }
  return parse(readFileSync(file, 'utf8'))
}
