/**
 * `wide-cache doctor`: looks at the database and at the cache as a web process and as a collector
 * would, and says what is wrong and what to do about it.
 */
import { namedServers, openCache } from '../../cache/open.js'
import { type Database, DatabaseError } from '../../database/database.js'
import { type Clock, systemClock } from '../../support/clock.js'
import { printable, printableJson } from '../../support/printable.js'
import type { OptionsOf } from '../arguments.js'
import { withDatabase } from '../existing.js'
import type { CommandLog } from '../log.js'
import { packageVersion } from '../version.js'
import { checkBooks } from './books.js'
import { checkCache } from './cache.js'
import { checkClock, checkRights, checkTables, checkVersion } from './database.js'
import { type Finding, findingsOf } from './finding.js'
import {
  checkCollectors,
  checkQuarantine,
  checkServerLists,
  checkVisitors,
  usesServers,
} from './records.js'
import { checkTimeZones } from './time-zones.js'
import { checkWholeWay } from './whole-way.js'

const MAX_LINE = 80

/**
 * Prints all findings. Returns the exit status: 1 if there is a warning or an error.
 *
 * @throws what a wrong option or a database that cannot be reached throws
 */
export function doctor(
  options: OptionsOf<'doctor'>,
  log: CommandLog,
  print: (text: string) => void,
  stop: AbortSignal,
  clock: Clock = systemClock,
): Promise<number> {
  const servers = namedServers(options.cache)
  return withDatabase(options.database, log, async (database) => {
    const findings = [
      findingsOf('package').ok(`wide-cache ${packageVersion()} on Node ${process.versions.node}`),
      ...(await checkVersion(database)),
      ...(await checkClock(database, clock)),
    ]
    const { findings: ofTables, parts } = await checkTables(database)
    const has = (part: string): boolean => parts.some((one) => one.part === part)
    findings.push(...ofTables, ...(await checkRights(database, parts)))
    const works = findings.every(({ severity }) => severity !== 'error')
    const others = works && (await usesServers(database))
    findings.push(...(await checkCache(servers, clock, others)))
    if (works) {
      findings.push(...(await recorded(database, options.cache, has('activity'))))
      findings.push(...(await checkWholeWay(options.database, options.cache, stop)))
    }
    print(options.json ? asJson(findings) : asText(findings))
    return findings.some(({ severity }) => severity !== 'ok') ? 1 : 0
  })
}

/** Checks the records. A check that fails does not hide the others. */
async function recorded(
  database: Database,
  servers: string | undefined,
  hasActivity: boolean,
): Promise<Finding[]> {
  const { cache } = openCache(servers)
  const findings: Finding[] = []
  for (const check of [
    () => checkServerLists(database, cache),
    () => checkCollectors(database),
    () => checkQuarantine(database),
    () => checkTimeZones(database),
    async () => (hasActivity ? checkVisitors(database) : []),
    async () => (hasActivity ? checkBooks(database) : []),
  ]) {
    try {
      findings.push(...(await check()))
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error
      findings.push(
        findingsOf('records').error(error.message, 'check the database, and run the doctor again'),
      )
    }
  }
  await cache.close()
  return findings
}

function asJson(findings: readonly Finding[]): string {
  return `${printableJson({
    findings: findings.map(({ check, severity, cause, remedy = null }) => ({
      check,
      severity,
      cause,
      remedy,
    })),
  })}\n`
}

/** One paragraph a finding, at most 80 columns wide. */
function asText(findings: readonly Finding[]): string {
  return findings
    .map(({ check, severity, cause, remedy }) => {
      const head = `${severity.padEnd(7)}  ${check.padEnd(12)}  `
      const indent = ' '.repeat(head.length)
      return (
        wrapped(head, cause, indent) +
        (remedy === undefined ? '' : wrapped(`${indent}→ `, remedy, `${indent}  `))
      )
    })
    .join('')
}

/** Words on lines, the first behind `first` and each other behind `indent`. */
function wrapped(first: string, text: string, indent: string): string {
  let lines = ''
  let line = first
  let start = first
  for (const word of printable(text).split(' ')) {
    if (line !== start && line.length + 1 + word.length > MAX_LINE) {
      lines += `${line}\n`
      line = start = indent
    }
    line += line === start ? word : ` ${word}`
  }
  return `${lines}${line}\n`
}
