import { DatabaseError } from '../../database/database.js'
import type { BurstLogger } from '../../support/logger.js'
import { counted } from '../../support/printable.js'
import type { Frame } from '../frame.js'
import type { CommitOptions, Ledger, Settled } from './ledger.js'
import { RowsError } from './rows.js'

/** The part of the ledger that takes frames, whatever rows they hold. */
export type FrameLedger = Pick<Ledger<unknown>, 'nameOf' | 'commit' | 'quarantine'>

/** Number of tries of a frame alone before it goes to quarantine. */
const TRIES_ALONE = 3

/**
 * Brings frames into the ledger, whatever their rows are. Finds frames that SQL refuses by halving,
 * tries them alone, and sends them to quarantine, so that they never stop the frames behind them.
 * Passes on errors that say nothing about the rows (connection, lock, space, a missing table), and
 * does not try again after them.
 */
export async function settle(
  ledger: FrameLedger,
  frames: readonly Frame[],
  logger: BurstLogger,
  { raise, ...options }: CommitOptions = {},
): Promise<Settled> {
  try {
    return await ledger.commit(frames, { raise, ...options })
  } catch (error) {
    if (!isAboutRows(error)) throw error
  }
  const settled = await isolate(ledger, frames, logger, options)
  if (raise) await ledger.commit([], { raise })
  return settled
}

/** Settles frames. SQL refuses at least one of them. */
async function isolate(
  ledger: FrameLedger,
  frames: readonly Frame[],
  logger: BurstLogger,
  options: CommitOptions,
): Promise<Settled> {
  const [only] = frames
  if (only && frames.length === 1) return settleAlone(ledger, only, logger, options)
  const middle = Math.ceil(frames.length / 2)
  const first = await settle(ledger, frames.slice(0, middle), logger, options)
  const second = await settle(ledger, frames.slice(middle), logger, options)
  return {
    committed: first.committed + second.committed,
    duplicate: first.duplicate + second.duplicate,
    quarantined: first.quarantined + second.quarantined,
    // What settled later knows the newer prefix.
    prefixes: new Map([...first.prefixes, ...second.prefixes]),
  }
}

async function settleAlone(
  ledger: FrameLedger,
  frame: Frame,
  logger: BurstLogger,
  options: CommitOptions,
): Promise<Settled> {
  let reason = ''
  // The try that brought it here is the first.
  for (let tries = 1; tries < TRIES_ALONE; tries++) {
    try {
      return await ledger.commit([frame], options)
    } catch (error) {
      if (!isAboutRows(error)) throw error
      reason = reasonOf(error)
    }
  }
  const settled = await ledger.quarantine([frame], reason, options)
  const name = ledger.nameOf(frame)
  logger.warn(
    'quarantine',
    `wide-cache: the database refuses a frame of ${counted(frame.rowCount, 'row')} of ` +
      `"${name}" (${reason}); ${keptInQuarantine(name)}`,
  )
  return settled
}

/** Says for the log where frames are kept, and by which command they are seen. */
export function keptInQuarantine(name: string): string {
  return `it is kept in quarantine, and shown by: wide-cache quarantine list --name ${name}`
}

/** Tells whether an error says that rows are refused, and not that the database cannot work. */
export function isAboutRows(error: unknown): error is RowsError | DatabaseError {
  return error instanceof RowsError || (error instanceof DatabaseError && error.category === 'data')
}

/** Returns the reason of a refusal. Names and codes only: a foreign message may quote a row. */
export function reasonOf(error: RowsError | DatabaseError): string {
  if (error instanceof DatabaseError) return error.code
  return error.cause instanceof Error ? `${error.message}: ${error.cause.name}` : error.message
}
