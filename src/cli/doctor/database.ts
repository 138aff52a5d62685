/** Checks of the database: version, clock, tables and rights. Nothing is changed. */
import { type Database, DatabaseError } from '../../database/database.js'
import { productOf } from '../../database/dialect.js'
import { refuseForeignTables } from '../../database/foreign-tables.js'
import { refusedRights, RIGHTS } from '../../database/rights.js'
import { type PartState, partStates, schemaOf, tablesOf } from '../../database/schema-state.js'
import { isWrongServer } from '../../database/servers/errors.js'
import type { Clock } from '../../support/clock.js'
import { type Finding, findingsOf } from './finding.js'

/** The oldest versions that the package is tested with. */
const LEAST: Readonly<Record<string, readonly [number, number]>> = {
  MySQL: [8, 0],
  MariaDB: [10, 6],
  PostgreSQL: [10, 20],
  SQLite: [3, 38],
}

/** Difference of two clocks from which on a warning is due, in ms: as in the log of a process. */
const CLOCK_WARNING_MS = 3_000

/**
 * Difference from which on it is an error: days close, and old rows are removed, by the database's
 * clock.
 */
const CLOCK_ERROR_MS = 600_000

/** Names in a list; a message has no room for more. */
const MAX_NAMED = 5

const GRANT =
  'grant SELECT, INSERT, UPDATE and DELETE on the schema to the user of web processes and ' +
  'collectors; restore a table that is missing'
const WRITABLE =
  'name the server that takes writes, or end what keeps this one from it: read_only and ' +
  'transaction_read_only in MySQL, default_transaction_read_only of server or role in PostgreSQL'

export async function checkVersion(database: Database): Promise<Finding[]> {
  const { ok, warning } = findingsOf('database')
  const { product, version } = await productOf(database)
  const [least = 0, leastMinor = 0] = LEAST[product] ?? []
  const [major = 0, minor = 0] = version
  const text = `${product} ${version.join('.')}`
  return major > least || (major === least && minor >= leastMinor)
    ? [ok(text)]
    : [
        warning(
          `${text} is older than any that this package is tested with`,
          `update it to ${product} ${least}.${leastMinor} or later`,
        ),
      ]
}

export async function checkClock(database: Database, clock: Clock): Promise<Finding[]> {
  const { ok, warning, error } = findingsOf('clock')
  const began = clock.now()
  const then = await database.now()
  const ended = clock.now()
  // The answer was made between the two.
  const [least, most] = [then - ended, then - began]
  const offset = least > 0 ? least : most < 0 ? most : 0
  const text = `the clock of the database is ${offsetText(offset, 'this machine')}`
  const remedy = 'let NTP or chrony set the clocks of both machines'
  if (Math.abs(offset) >= CLOCK_ERROR_MS) {
    return [
      error(
        `${text}; if the database's is the wrong one, days close and old rows are removed too ` +
          'early or too late',
        remedy,
      ),
    ]
  }
  if (Math.abs(offset) >= CLOCK_WARNING_MS) {
    return [
      warning(
        `${text}; until a process has reached the database, it records by its own clock`,
        remedy,
      ),
    ]
  }
  return [ok(text)]
}

/** `2.5 s ahead of this machine's`. */
export function offsetText(ms: number, whose: string): string {
  if (Math.abs(ms) < 1_000) return `within a second of ${whose}'s`
  return `${(Math.abs(ms) / 1000).toFixed(1)} s ${ms > 0 ? 'ahead of' : 'behind'} ${whose}'s`
}

/** Finds the tables that exist, and what is wrong with them. */
export async function checkTables(
  database: Database,
): Promise<{ findings: Finding[]; parts: PartState[] }> {
  const states = await partStates(database)
  const findings: Finding[] = []
  const notOurs: Finding[] = []
  const { ok, error } = findingsOf('tables')
  for (const { part, applied, oldest, known } of states) {
    if (applied === 0) notOurs.push(...(await checkForeign(database, part)))
    else if (applied < known) {
      findings.push(
        error(
          `the tables of "${part}" are at version ${applied}, and this wide-cache has version ` +
            `${known}`,
          'run wide-cache migrate as a user that may change tables',
        ),
      )
    } else if (oldest > known) {
      findings.push(
        error(
          `the tables of "${part}" are at version ${applied}, made by a newer wide-cache than ` +
            `this one, which knows version ${known}`,
          'update the package here',
        ),
      )
    }
  }
  const parts = states.filter(({ applied }) => applied > 0)
  findings.push(...notOurs)
  // Beside a foreign table `migrate` makes no tables: the only remedy is another database.
  if (notOurs.length === 0 && !parts.some(({ part }) => part === 'wide-cache')) {
    findings.push(
      error(
        'the database has no tables of wide-cache, or this user may not see them',
        'start a web process whose user may make tables, or run wide-cache migrate',
      ),
    )
  }
  if (findings.length === 0) {
    findings.push(ok(`up to date: ${parts.map(({ part }) => part).join(', ')}`))
  }
  return { findings, parts }
}

/** Looks for tables of other programs with the names of those of a part that is not there yet. */
async function checkForeign(database: Database, part: string): Promise<Finding[]> {
  try {
    await refuseForeignTables(database, await schemaOf(database.dialect, part))
    return []
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === 'DATABASE_FOREIGN_TABLE')) throw error
    return [
      findingsOf('tables').error(
        error.message.split('. ')[0] ?? error.message,
        'give wide-cache a database (schema) of its own on the same server',
      ),
    ]
  }
}

/** Checks the rights that web processes and collectors need on the tables that are there. */
export async function checkRights(
  database: Database,
  parts: readonly PartState[],
): Promise<Finding[]> {
  const { ok, error } = findingsOf('rights')
  if (parts.length === 0) return []
  const tables = (
    await Promise.all(parts.map(({ part }) => tablesOf(database.dialect, part)))
  ).flat()
  const refusals = await refusedRights(database, tables)
  if (refusals.length === 0) return [ok(`${RIGHTS.join(', ')} on all ${tables.length} tables`)]
  const rights = RIGHTS.filter((right) => refusals.some((one) => one.right === right))
  const refused = tables.filter((table) => refusals.some((one) => one.table === table))
  return [
    error(
      `${rights.join(', ')} is refused on ${named(refused)}: ${refusals[0]?.error.message ?? ''}`,
      refusals.some(({ error: refusal }) => isWrongServer(refusal)) ? WRITABLE : GRANT,
    ),
  ]
}

function named(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).join(', ')
  return names.length > MAX_NAMED ? `${shown} and ${names.length - MAX_NAMED} more` : shown
}
