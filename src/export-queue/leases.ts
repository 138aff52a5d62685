/**
 * Leases: who may export a range of hashes, kept in SQL so that no transaction is open while an
 * exporter is at work. A lease lasts ten seconds by the database's clock and is renewed as long as
 * a call of the exporter is waited for; it ends with the deletion of what was exported. After a
 * failure it stays, renewed by nobody, until the range may be tried again. A process may be
 * overtaken in three cases: it is paused for longer than a lease; it is cut off from the database
 * for as long; the database's clock steps by as much. Versions distinguish its old entries from the
 * newer ones.
 */
import type { HashRange } from '../buckets/buckets.js'
import { AbandonedCallError } from '../buckets/calls.js'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import type { Transaction } from '../database/database.js'
import { bytes, execute, numberOrNull, select, selectOne, textOrNull } from '../database/sql.js'
import { table } from '../database/table.js'
import type { Environment } from '../support/environment.js'

const LEASES = table(
  'export_queue_leases',
  ['queue', 'holder'],
  'first_hash',
  'last_hash',
  'held_until',
  'failures',
  'failed_at',
  'reason',
)

const LEASE = {
  holder: bytes,
  heldUntil: Number,
  failures: Number,
  failedAt: numberOrNull,
  reason: textOrNull,
}

/** The right to export a range, and how often that has failed in a row. */
export interface RangeLease {
  readonly holder: Buffer
  readonly failures: number
}

/** After the death of a process its bucket rests so long. */
const LEASE_MS = 10_000
const RENEW_MS = 3_000
const FIRST_REST_MS = 1_000
const LONGEST_REST_MS = 300_000

export class RangeLeases {
  readonly #database: PreparedDatabase
  readonly #queue: string
  readonly #environment: Environment

  constructor(database: PreparedDatabase, queue: string, environment: Environment) {
    this.#database = database
    this.#queue = queue
    this.#environment = environment
  }

  /**
   * A lease on this range, whose bucket is locked; `undefined` while there is another one on any
   * part of it.
   */
  async take(tx: Transaction, { first, last }: HashRange): Promise<RangeLease | undefined> {
    const leases = await select(
      tx,
      LEASE,
    )`FROM export_queue_leases WHERE queue = ${this.#queue} AND first_hash <= ${last}
      AND last_hash >= ${first} ORDER BY failures`
    // Read afterwards: no lease that was given by then lies further ahead.
    const now = await tx.now()
    for (const { holder, heldUntil, failures } of leases) {
      if (heldUntil > now && heldUntil <= now + longestOf(failures)) return undefined
      // As it was read: it may have been renewed, or rest after a further failure, meanwhile.
      const { affectedRows } = await execute(tx)`DELETE FROM export_queue_leases
        WHERE queue = ${this.#queue} AND holder = ${holder} AND held_until = ${heldUntil}`
      if (affectedRows === 0) return undefined
    }
    const { failures = 0, failedAt = null, reason = null } = leases.at(-1) ?? {}
    const holder = this.#environment.newId()
    await LEASES.insert(tx, [
      [this.#queue, holder, first, last, now + LEASE_MS, failures, failedAt, reason],
    ])
    return { holder, failures }
  }

  /** Renews the lease while `work` is under way. `lost` is aborted when another one has it. */
  async during<T>(holder: Buffer, work: (lost: AbortSignal) => Promise<T>): Promise<T> {
    let timer = this.#environment.clock.after(RENEW_MS, renew)
    let renewing: Promise<void> = Promise.resolve()
    let over = false
    const lost = new AbortController()
    const extend = async (): Promise<void> => {
      if (!(await this.#extend(holder))) lost.abort(leaseLost())
    }
    const { clock } = this.#environment
    function renew(): void {
      renewing = extend().finally(() => {
        if (!over) timer = clock.after(RENEW_MS, renew)
      })
    }
    try {
      return await work(lost.signal)
    } finally {
      over = true
      timer.cancel()
      // One that comes late must not undo what is said of the lease next.
      await renewing
    }
  }

  /** Gives the lease back; `false` if it has been lost to another one. */
  async end(tx: Transaction, holder: Buffer): Promise<boolean> {
    const { affectedRows } = await execute(tx)`DELETE FROM export_queue_leases
      WHERE queue = ${this.#queue} AND holder = ${holder}`
    return affectedRows === 1
  }

  /**
   * Gives the lease back after a success. Failures before it are forgotten one by one, because what
   * has failed may be among the next entries. `false` if it has been lost to another one.
   */
  async succeed(tx: Transaction, { holder, failures }: RangeLease): Promise<boolean> {
    if (failures === 0) return this.end(tx, holder)
    const { affectedRows } = await execute(tx)`UPDATE export_queue_leases SET held_until = 0,
      failures = ${Math.max(1, failures - 1)} WHERE queue = ${this.#queue} AND holder = ${holder}`
    return affectedRows === 1
  }

  /**
   * Lets the range rest: a second after the first failure, twice as long after each further one, at
   * most five minutes.
   */
  async rest(holder: Buffer, reason: string): Promise<void> {
    await this.#database.retriedTransaction(async (tx) => {
      const lease = await selectOne(tx, { failures: Number })`FROM export_queue_leases
        WHERE queue = ${this.#queue} AND holder = ${holder}`
      if (!lease) return
      const { failures } = lease
      const now = await tx.now()
      const until = now + restAfter(failures)
      await execute(tx)`UPDATE export_queue_leases SET held_until = ${until},
        failures = ${failures + 1}, resting = 1, failed_at = ${now}, reason = ${reason}
        WHERE queue = ${this.#queue} AND holder = ${holder}`
    })
  }

  /** `false`: another one has it. Never rejects: the next renewal may succeed. */
  async #extend(holder: Buffer): Promise<boolean> {
    const { database } = this.#database
    try {
      const until = (await database.now()) + LEASE_MS
      const { affectedRows } = await execute(database)`UPDATE export_queue_leases
        SET held_until = ${until} WHERE queue = ${this.#queue} AND holder = ${holder}`
      return affectedRows === 1
    } catch {
      return true
    }
  }
}

function leaseLost(): AbandonedCallError {
  return new AbandonedCallError(
    'ERR_WIDE_CACHE_LEASE_LOST',
    'another process has taken over the entries of this call, because this process was paused or ' +
      `without its database for ${LEASE_MS / 1000} s, or the database's clock stepped`,
  )
}

/** The rest after a failure with so many failures before it. */
function restAfter(failures: number): number {
  return Math.min(FIRST_REST_MS * 2 ** failures, LONGEST_REST_MS)
}

/**
 * The longest time that a lease lies ahead: one that lies further was taken while the clock was
 * ahead. A clock that steps back by less than a lease takes none away from an exporter at work.
 */
function longestOf(failures: number): number {
  return LEASE_MS + Math.max(LEASE_MS, restAfter(failures - 1))
}
