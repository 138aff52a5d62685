#!/usr/bin/env node
/**
 * The command `wide-cache`: exit status 0 when it is done or was told to stop, 1 when it has found
 * something to act on, 2 when it cannot run. A failure is one line on stderr.
 */
import { readFileSync } from 'node:fs'
import { openDatabase } from '../database/open.js'
import type { Logger } from '../support/logger.js'
import { commandOf, UsageError } from './arguments.js'
import { collect } from './collect.js'
import { exportSums } from './export.js'
import { removeOneValue } from './remove-value.js'
import { USAGE } from './usage.js'

/** Exit status of a command that cannot run, or cannot go on. */
const CANNOT_RUN = 2

let lastSaid = ''
const say = (line: string): void => {
  lastSaid = line
  console.error(line)
}
const logger: Logger = { info: say, warn: say, error: say }

try {
  await run()
} catch (error) {
  const text = error instanceof Error ? error.message : String(error)
  const line = text.replace(/^wide-cache: /, '').replace(/\s*\n\s*/g, ' ')
  const usage = error instanceof UsageError
  const message = `wide-cache: ${line}${usage ? ' (see wide-cache --help)' : ''}`
  // What is fatal to a grid the grid has logged itself.
  if (message !== lastSaid) say(message)
  process.exitCode = CANNOT_RUN
}

async function run(): Promise<void> {
  const asked = commandOf(process.argv.slice(2))
  switch (asked.command) {
    case 'help':
      process.stdout.write(USAGE)
      return
    case 'version':
      console.log(version())
      return
    case 'migrate':
      return migrate(asked.database)
    case 'collect':
      return collect(asked.cache, asked.options, logger, signalled())
    case 'export':
      return exportSums(asked.options, logger, process.stdout)
    case 'remove-value':
      return removeOneValue(asked.options, logger)
  }
}

async function migrate(url: string | undefined): Promise<void> {
  const { database } = openDatabase(url, logger)
  try {
    await database.migrate()
    say(`wide-cache: the tables are up to date (${database.dialect})`)
  } finally {
    await database.close()
  }
}

/** Aborted by the first SIGTERM or SIGINT; a second one ends the process as it would any other. */
function signalled(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort())
  return stop.signal
}

function version(): string {
  const { version }: { version?: unknown } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return String(version)
}
