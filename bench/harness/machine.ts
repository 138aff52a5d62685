/** On what a result was measured. */
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
