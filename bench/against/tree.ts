/**
 * Another commit of this repository, built in a temporary folder: a git worktree with the
 * dependencies of the working tree, or with its own where its lock file asks for others.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git, ROOT } from '../harness/git.js'

const LOCK = 'package-lock.json'
/** Number of characters kept of the end of a program's output, for its error. */
const KEPT_CHARACTERS = 4000

/**
 * The full hash of a commit. `name`: a hash, a tag, or anything that git takes for a commit.
 *
 * @throws Error if this is no repository, or has no such commit
 */
export function commitOf(name: string, root = ROOT): string {
  if (git(root, 'rev-parse', '--is-inside-work-tree') === undefined) {
    throw new Error(`compare --against needs a git repository, and ${root} is none`)
  }
  const hash = git(root, 'rev-parse', '--verify', '--end-of-options', `${name}^{commit}`)
  if (hash === undefined) {
    throw new Error(
      `This repository has no commit "${name}": --against takes a hash, a tag, a branch, or a ` +
        'name such as HEAD~1. Fetch it first if it is only on the server',
    )
  }
  return hash
}

/** `606555c Say certificates …`: a commit as people know it. */
export function titleOf(commit: string, root = ROOT): string {
  return git(root, 'log', '-1', '--format=%h %s', commit) ?? commit
}

/** `the working tree (606555c and 3 changed files)`. */
export function workingTree(root = ROOT): string {
  const head = git(root, 'rev-parse', '--short', 'HEAD') ?? 'no commit'
  const changes = (git(root, 'status', '--porcelain') ?? '').split('\n').filter(Boolean).length
  const files = changes === 1 ? '1 changed file' : `${changes} changed files`
  return `the working tree (${head}${changes === 0 ? '' : ` and ${files}`})`
}

/**
 * Checks out a commit and builds it. `signal` ends it at any time; nothing is left behind then.
 *
 * @throws Error with the end of what was printed, if it cannot be built
 */
export async function build(commit: string, signal: AbortSignal) {
  const parent = mkdtempSync(join(tmpdir(), 'wide-cache-against-'))
  const folder = join(parent, 'tree')
  const modules = join(folder, 'node_modules')
  mkdirSync(join(parent, 'scratch'))
  let linked = false
  const tree = {
    folder,
    /** An empty folder beside it, removed with it. */
    scratch: join(parent, 'scratch'),
    /** Idempotent. */
    remove(): void {
      // First the link, so that nobody can walk through it into the dependencies of this tree.
      if (linked) unlinkSync(modules)
      linked = false
      rmSync(parent, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
      git(ROOT, 'worktree', 'prune')
    },
  }
  try {
    await run('git', ['worktree', 'add', '--detach', folder, commit], ROOT, signal)
    if (readFileSync(join(folder, LOCK), 'utf8') === readFileSync(join(ROOT, LOCK), 'utf8')) {
      symlinkSync(realpathSync(join(ROOT, 'node_modules')), modules, 'dir')
      linked = true
    } else {
      await run('npm', ['ci', '--no-audit', '--no-fund'], folder, signal)
    }
    await run('npm', ['run', 'build'], folder, signal)
    return tree
  } catch (error) {
    tree.remove()
    throw error
  }
}

/** Resolves when the program has ended well. @throws Error with the end of what it printed */
async function run(
  command: string,
  args: readonly string[],
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const { code, said } = await ended(child, signal)
  if (code !== 0) {
    throw new Error(`${said}\n${[command, ...args].join(' ')} in ${folder} ended with ${code}`)
  }
}

/** Resolves with how a program ended, and the end of what it printed. `signal` ends it. */
export async function ended(
  child: ChildProcess,
  signal: AbortSignal,
): Promise<{ code: number | string; said: string }> {
  const stop = (): void => void child.kill('SIGTERM')
  signal.addEventListener('abort', stop)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream
      ?.setEncoding('utf8')
      .on('data', (text: string) => (said = (said + text).slice(-KEPT_CHARACTERS)))
  }
  try {
    // Only now nothing of it writes into the folder any more.
    const [code, killed] = (await once(child, 'close')) as [number | null, string]
    signal.throwIfAborted()
    return { code: code ?? killed, said }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
