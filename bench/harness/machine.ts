/** On what a result was measured, and what. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { git, ROOT } from './git.js'
import { binary, type Program } from '../../test/servers/binaries.js'

export type Machine = Readonly<ReturnType<typeof machine>>

export function machine() {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
  }
}

/** Returns the commit of the working tree, with `+` if any of `sources` differs from it. */
export function commitOf(sources: readonly string[]): string {
  const changes = git(ROOT, 'status', '--porcelain', '--', ...sources)
  return `${git(ROOT, 'rev-parse', 'HEAD') ?? 'unknown'}${changes ? '+' : ''}`
}

/** Returns the versions of Node, of this package, and of the servers that were started. */
export function versions(programs: Iterable<Program>): Record<string, string> {
  const { version } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { version: string }
  const versionOf = (program: Program): string => {
    const said = execFileSync(binary(program), ['--version'], { encoding: 'utf8' })
    return /\d+(?:\.\d+)+\S*/.exec(said)?.[0] ?? 'unknown'
  }
  return {
    node: process.versions.node,
    'wide-cache': version,
    ...Object.fromEntries([...programs].map((program) => [program, versionOf(program)])),
  }
}
