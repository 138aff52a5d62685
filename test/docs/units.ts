/** Units of systemd and Dockerfiles. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { executable } from '../servers/binaries.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { checkCommand, checkCommands } from './commands.js'

const INSTRUCTIONS = [
  'FROM',
  'WORKDIR',
  'COPY',
  'RUN',
  'ENV',
  'USER',
  'EXPOSE',
  'CMD',
  'ENTRYPOINT',
  'ARG',
  'LABEL',
  'STOPSIGNAL',
  'HEALTHCHECK',
  'VOLUME',
]

/** The value of a setting, such as `ExecStart`, in a unit. @throws Error if there is none */
export function settingOf(unit: string, setting: string): string {
  const value = new RegExp(`^${setting}=(.*)$`, 'm').exec(unit)?.[1]
  if (value === undefined) throw new Error(`${setting} is missing`)
  return value
}

/**
 * @throws Error for a command that does not exist, a line that is no setting, and what
 * `systemd-analyze verify` says, where that is installed
 */
export async function checkUnit(unit: string): Promise<void> {
  for (const line of unit.split('\n')) {
    if (!/^(?:\[\w+\]|[A-Z]\w*=.*|#.*|\s*)$/.test(line)) throw new Error(`"${line}" is no setting`)
  }
  checkCommands(settingOf(unit, 'ExecStart'))
  const analyze = executable('systemd-analyze')
  if (!analyze) return
  const folder = temporaryFolder('unit')
  try {
    const file = join(folder, 'block.service')
    writeFileSync(file, unit)
    const { stderr } = await promisify(execFile)(analyze, ['verify', file])
    // Programs lie elsewhere on some machines.
    const said = stderr
      .split('\n')
      .filter((line) => line.includes('block.service') && !line.includes('is not executable'))
      .join('\n')
    if (said) throw new Error(said)
  } finally {
    removeFolder(folder)
  }
}

/** The words of `CMD`. @throws Error if it is no list */
export function commandOfImage(dockerfile: string): string[] {
  const list = /^CMD\s+(\[.*\])\s*$/m.exec(dockerfile)?.[1]
  if (!list) throw new Error('CMD is no list: a shell would stand between')
  return JSON.parse(list) as string[]
}

/** @throws Error for an instruction or a command that does not exist */
export function checkDockerfile(dockerfile: string): void {
  const lines = dockerfile
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  for (const line of lines) {
    const [, instruction = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? []
    if (!INSTRUCTIONS.includes(instruction)) throw new Error(`"${line}": no such instruction`)
    if (instruction === 'RUN') checkCommands(rest)
  }
  if (!lines[0]?.startsWith('FROM ')) throw new Error('it has no FROM at its beginning')
  checkCommand(commandOfImage(dockerfile))
}
