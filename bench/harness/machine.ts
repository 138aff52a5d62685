/** On what a result was measured, and what. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { binary, type Program } from '../../test/servers/binaries.js'

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly system: string
}

export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
  }
}

/** Returns the commit of the working tree, with `+` if any of `sources` differs from it. */
export function commitOf(sources: readonly string[]): string {
  try {
    const root = new URL('../../', import.meta.url)
    const git = (...args: string[]): string =>
      execFileSync('git', args, {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      })
    const changed = git('status', '--porcelain', '--', ...sources) !== ''
    return `${git('rev-parse', 'HEAD').trim()}${changed ? '+' : ''}`
  } catch {
    return 'unknown'
  }
}

/** Returns the versions of Node, of this package, and of the servers that were started. */
export function versions(programs: Iterable<Program>): Record<string, string> {
  const { version } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { version: string }
  const servers = [...programs].map((program) => [
    program,
    execFileSync(binary(program), ['--version'], { encoding: 'utf8' }).match(
      /\d+(?:\.\d+)+\S*/,
    )?.[0] ?? 'unknown',
  ])
  return {
    node: process.versions.node,
    'wide-cache': version,
    ...(Object.fromEntries(servers) as Record<string, string>),
  }
}
