import { sleep } from '../support/clock.js'
import { type Environment, keptAlive } from '../support/environment.js'
import type { Logger } from '../support/logger.js'
import { type Database, DatabaseError, type Transaction } from './database.js'
import { openDatabase } from './open.js'

/** Tries of one transaction; with the waits between them a second and a half. */
const TRIES = 8
const FIRST_WAIT_MS = 10
const LAST_WAIT_MS = 500

/**
 * A database as one of the classes uses it: opened from its option, brought up to this version
 * before the first use, and closed with the class if it was opened for it.
 */
export class Tables {
  readonly database: Database
  readonly #part: string
  readonly #owned: boolean
  readonly #environment: Environment
  #ready: Promise<void> | undefined

  /**
   * @param part the part of the package whose tables are used
   * @param logger told of what is ignored in a URL
   * @throws TypeError, RangeError naming the option `database`
   */
  constructor(
    part: string,
    given: string | Database | undefined,
    environment: Environment,
    logger?: Logger,
  ) {
    this.#part = part
    const { database, owned } = openDatabase(given, logger)
    this.database = database
    this.#owned = owned
    this.#environment = environment
  }

  /** Migrates, once; tried again after a failure. */
  ready(): Promise<void> {
    this.#ready ??= this.database.migrate([this.#part]).catch((error: unknown) => {
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }

  /**
   * `work` in a transaction, begun anew when another one's locks were in the way: then nothing of
   * it has been done. Any other failure is passed on.
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    await this.ready()
    for (let tries = 1, wait = FIRST_WAIT_MS; ; tries++, wait = Math.min(2 * wait, LAST_WAIT_MS)) {
      try {
        return await this.database.transaction(work)
      } catch (error) {
        if (tries >= TRIES || !(error instanceof DatabaseError) || error.kind !== 'lock') {
          throw error
        }
      }
      const { clock, random } = this.#environment
      await keptAlive(this.#environment, () => sleep(clock, wait * (0.5 + random())))
    }
  }

  async close(): Promise<void> {
    if (this.#owned) await this.database.close()
  }
}
