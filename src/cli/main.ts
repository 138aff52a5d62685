#!/usr/bin/env node
/**
 * The command `wide-cache`: exit status 0 when it is done or was told to stop, 1 when it has found
 * something to act on, 2 when it cannot run. A failure is one line on stderr.
 */
import { openDatabase } from '../database/open.js'
import { systemClock } from '../support/clock.js'
import { type Command, commandOf, logFormatOf, UsageError } from './arguments.js'
import { printCertificate } from './certificate.js'
import { collect } from './collect.js'
import { collectModule } from './collect-module.js'
import { doctor } from './doctor/doctor.js'
import { exportSums } from './export.js'
import { importFile } from './import.js'
import { type CommandLog, commandLog } from './log.js'
import { note } from './note.js'
import { parked } from './parked.js'
import { quarantine } from './quarantine.js'
import { reconcile } from './reconcile/reconcile.js'
import { removeOneValue } from './remove-value.js'
import { status } from './status.js'
import { USAGE } from './usage.js'
import { packageVersion } from './version.js'

/** Exit status of a command that has found something to act on. */
const FOUND = 1

/** Exit status of a command that cannot run, or cannot go on. */
const CANNOT_RUN = 2

// The reader of a pipe has ended, as `head` does. A log that cannot be written is not reported.
process.stdout.on('error', () => process.exit())
process.stderr.on('error', () => undefined)

const args = process.argv.slice(2)
/** A file of the site may have opened what keeps the process alive for ever. */
let leaves = false
const log = commandLog(logFormatOf(args), (line) => console.error(line), systemClock)
const print = (text: string): void => void process.stdout.write(text)

try {
  const asked = commandOf(args)
  // Other users of the machine see the arguments of a process, and a URL may hold a password.
  process.title = `wide-cache ${asked.command}`
  leaves = asked.command === 'collect' && asked.options.module !== undefined
  process.exitCode = await run(asked, log)
} catch (error) {
  const text = error instanceof Error ? error.message : String(error)
  const usage = error instanceof UsageError
  const message =
    `wide-cache: ${text.replace(/^wide-cache: /, '')}` + (usage ? ' (see wide-cache --help)' : '')
  // The grid itself has logged the errors that end it.
  if (message !== log.last) log.error(message, codeOf(error))
  process.exitCode = CANNOT_RUN
}
if (leaves) process.exit()

/** Returns the exit status. */
async function run(asked: Command, log: CommandLog): Promise<number> {
  switch (asked.command) {
    case 'help':
      print(USAGE)
      return 0
    case 'version':
      print(`${packageVersion()}\n`)
      return 0
    case 'migrate':
      await migrate(asked.options.database)
      return 0
    case 'collect': {
      const { module } = asked.options
      await (module === undefined
        ? collect(asked.options, log, signalled())
        : collectModule(module, asked.options, log, signalled()))
      return 0
    }
    case 'status':
      await status(asked.options, log, print, {
        stop: asked.options.watch ? signalled() : new AbortController().signal,
        clear: clearing(),
      })
      return 0
    case 'doctor':
      return doctor(asked.options, log, print, signalled())
    case 'quarantine':
      return quarantine(asked.options, log, print)
    case 'parked':
      return parked(asked.options, log, print)
    case 'certificate':
      return (await printCertificate(asked.options, log, process.stdout)) ? 0 : FOUND
    case 'export':
      await exportSums(asked.options, log, process.stdout)
      return 0
    case 'import':
      return importFile(asked.options, log)
    case 'note':
      await note(asked.options, log)
      return 0
    case 'reconcile':
      return reconcile(asked.options, log, process.stdout)
    case 'remove-value':
      await removeOneValue(asked.options, log)
      return 0
  }
}

async function migrate(url: string | undefined): Promise<void> {
  const { database } = openDatabase(url, log)
  try {
    await database.migrate()
    log.info(`wide-cache: the tables are up to date (${database.dialect})`)
  } finally {
    await database.close()
  }
}

/** Text before the next status: it clears the terminal, or is an empty line in a file. */
function clearing(): string {
  return process.stdout.isTTY ? '\u001b[H\u001b[2J' : '\n'
}

/** Aborted by the first SIGTERM or SIGINT; a second one ends the process as it would any other. */
function signalled(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
  return stop.signal
}

/** Returns the code that distinguishes an error from others, for programs. */
function codeOf(error: unknown): { code?: string } {
  const { code } = Object(error) as { code?: unknown }
  return typeof code === 'string' ? { code } : {}
}
