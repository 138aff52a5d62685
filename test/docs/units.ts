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

/** The stages of a Dockerfile, by name; those without a name by their number. */
function stagesOf(dockerfile: string): Map<string, string> {
  const stages = dockerfile.split(/^(?=FROM )/m).filter((part) => part.startsWith('FROM '))
  return new Map(
    stages.map((stage, i) => [/^FROM \S+ AS (\S+)$/m.exec(stage)?.[1] ?? `${i}`, stage]),
  )
}

/**
 * The words of `CMD`, of the last stage or of one that is named. @throws Error if it is no list, or
 * there is no such stage
 */
export function commandOfImage(dockerfile: string, stage?: string): string[] {
  const stages = stagesOf(dockerfile)
  const text = stage === undefined ? [...stages.values()].at(-1) : stages.get(stage)
  if (text === undefined) throw new Error(`there is no stage ${stage}`)
  const list = /^CMD\s+(\[.*\])\s*$/m.exec(text)?.[1]
  if (!list) throw new Error('CMD is no list: a shell would stand between')
  return JSON.parse(list) as string[]
}

/**
 * @throws Error for an instruction or a command that does not exist, unless it is of a file that is
 * copied
 */
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
  const copied = copiedBy(dockerfile)
  for (const [stage, text] of stagesOf(dockerfile)) {
    const command = /^CMD/m.test(text) ? commandOfImage(dockerfile, stage) : []
    if (command.length > 0 && !copied.includes(command.at(-1)!)) checkCommand(command)
  }
}

/** The files that a Dockerfile copies from beside it. */
export function copiedBy(dockerfile: string): string[] {
  return [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, files = '']) =>
    files.split(' '),
  )
}
