/**
 * Blocks of shell commands, and those in units of systemd and in Dockerfiles: each command exists,
 * and takes its flags.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commandOf } from '../../src/cli/arguments.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PACKAGE = 'node_modules/wide-cache/'
const CLI = 'dist/cli/main.js'
/** Commands of npm and git, as far as pages use them. */
const NPM_COMMANDS = ['ci', 'cit', 'version', 'publish', 'pack']
const GIT_COMMANDS = ['clone', 'commit', 'push', 'tag']
/**
 * Clients of databases, as far as test/real-servers/backup.test.ts and test/docs/postgres.test.ts
 * run them as printed.
 */
const CLIENTS = ['mariadb', 'mariadb-dump', 'mysql', 'mysqldump', 'psql', 'pg_dump', 'pg_restore']
/** Programs that pages let the reader write. */
const PROGRAMS_OF_READERS = ['site.mjs']
/** Flags of Node with a value of their own. */
const NODE_FLAGS_WITH_VALUE = ['--import', '--require', '-r']
const VARIABLES = [
  'MEMCACHE_SERVERS',
  'WIDE_CACHE_SERVERS',
  'REDIS_URL',
  'DATABASE_URL',
  'WIDE_CACHE_DATABASE_URL',
  'PORT',
  'NODE_ENV',
]

const { name, scripts, dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
) as {
  name: string
  scripts: { [script: string]: string }
  dependencies: { [name: string]: string }
  peerDependencies: { [name: string]: string }
}

/** @throws Error that names the first command that does not exist */
export function checkCommands(script: string): void {
  for (const line of script.replaceAll(/\\\n/g, ' ').split('\n')) {
    const commands = line.replace(/(^|\s)#.*$/, '').match(/(?:[^'"|;&]|'[^']*'|"[^"]*")+/g)
    for (const command of commands ?? []) {
      const words =
        command
          .match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)
          ?.map((word) => word.replaceAll(/['"]/g, '')) ?? []
      while (/^\w+=/.test(words[0] ?? '')) checkVariable(words.shift()!.replace(/=.*$/s, ''))
      if (words.length > 0) checkCommand(words)
    }
  }
}

/** A command as words. @throws Error if it does not exist */
export function checkCommand(words: readonly string[]): void {
  const [command = '', ...args] = words
  switch (command.replace(/^\/usr\/bin\//, '').replace(/^(?:\.\/)?node_modules\/\.bin\//, '')) {
    case 'npx':
      return checkCommand(args.filter((arg) => !/^-y$|^--yes$/.test(arg)))
    case 'wide-cache':
      return void commandOf(args)
    case 'npm':
      return checkNpm(args)
    case 'node':
      return checkNode(args)
    case 'git':
      return checkGit(args)
    default:
      if (CLIENTS.includes(command)) return
      throw new Error(`"${words.join(' ')}": no test knows this command`)
  }
}

function checkNpm([command = '', ...args]: readonly string[]): void {
  if (command === '--prefix') return checkNpm(args.slice(1))
  if (NPM_COMMANDS.includes(command)) return
  if (['install', 'i'].includes(command)) {
    const foreign = args.filter(
      (arg) =>
        !arg.startsWith('-') &&
        !arg.startsWith('$(npm pack ') &&
        arg !== name &&
        !(arg in dependencies) &&
        !(arg in peerDependencies),
    )
    if (foreign.length > 0) throw new Error(`"npm install": ${foreign.join(' ')} is not needed`)
    return
  }
  const script = command === 'run' ? (args[0] ?? '') : command
  if (!(script in scripts) || !['run', 'start', 'test'].includes(command)) {
    throw new Error(`"npm ${command} ${args.join(' ')}": package.json has no such script`)
  }
}

function checkNode(args: readonly string[]): void {
  const at = args.findIndex(
    (arg, index) => !arg.startsWith('-') && !NODE_FLAGS_WITH_VALUE.includes(args[index - 1] ?? ''),
  )
  const file = (args[at] ?? '').replace(PACKAGE, '')
  if (PROGRAMS_OF_READERS.includes(file)) return
  if (at === -1 || !existsSync(join(ROOT, file))) {
    throw new Error(`"node ${args.join(' ')}": there is no such file`)
  }
  if (file === CLI) commandOf(args.slice(at + 1))
}

function checkGit([command = '']: readonly string[]): void {
  if (!GIT_COMMANDS.includes(command)) {
    throw new Error(`git has no command "${command}", or no page has needed it so far`)
  }
}

function checkVariable(variable: string): void {
  if (!VARIABLES.includes(variable)) {
    throw new Error(`nothing reads the environment variable ${variable}`)
  }
}
