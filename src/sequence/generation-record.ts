/**
 * The row of a sequence in SQL: its newest generation. Promises: generations are numbered upwards
 * and one follows the other, each beginning where the one before it had reserved up to; `reserved`
 * only rises, and for a generation that is no longer the newest no more. Every statement asks for
 * the generation it speaks of.
 */
import assert from 'node:assert/strict'
import type { PreparedDatabase } from '../connections/prepared-database.js'
import type { Queryable } from '../database/database.js'
import { forUpdate } from '../database/dialect.js'
import { bytesOrNull, execute, raw, selectOne, type Sql, sql } from '../database/sql.js'
import { table } from '../database/table.js'

export interface Generation {
  /** From 0 on. */
  readonly generation: number
  /**
   * Names its counter in the cache; `null`: its numbers come from the row alone, each take checked
   * there.
   */
  readonly token: Buffer | null
  /** The counter begins at 0 and stands for this number. */
  readonly base: number
  /** No number above it is handed out. */
  readonly reserved: number
  /** no process acts on an earlier generation any more: numbers may be handed out. */
  readonly established: boolean
}

/** Numbers taken: `count` of them from `first` on; fewer than asked for where the numbers end. */
export interface Taken {
  readonly first: number
  readonly count: number
}

const GENERATIONS = table(
  'sequence_generations',
  ['name'],
  'generation',
  'token',
  'base',
  'reserved',
  'established',
)
const LAST = Number.MAX_SAFE_INTEGER

export class GenerationRecord {
  readonly #database: PreparedDatabase
  readonly #name: string
  readonly #block: number
  readonly #start: number

  /** `start`: the first number of a new sequence. */
  constructor(database: PreparedDatabase, name: string, block: number, start: number) {
    this.#database = database
    this.#name = name
    this.#block = block
    this.#start = start
  }

  /** The newest generation. A new sequence begins with generation 0, which needs no cache. */
  async read(): Promise<Generation> {
    const found = await this.#select(this.#database, '')
    if (found) return found
    const before = this.#start - 1
    await GENERATIONS.upsert(this.#database, [[this.#name, 0, null, before, before, 1]])
    const made = await this.#select(this.#database, '')
    assert(made, 'the row has just been made')
    return made
  }

  /**
   * Opens the generation after `old`, unless somebody else has; returns the newest one. It is
   * established from the start only if no process can act on an earlier one: a take without a cache
   * is checked at the row.
   */
  open(old: number, token: Buffer | null): Promise<Generation> {
    return this.#database.retriedTransaction(async (tx) => {
      const row = await this.#select(tx, forUpdate(tx.dialect))
      assert(row, 'a generation has been read')
      if (row.generation !== old) return row
      const next: Generation = {
        generation: old + 1,
        token,
        base: row.reserved,
        reserved: token === null ? row.reserved : Math.min(row.reserved + this.#block, LAST),
        established: row.token === null && row.established,
      }
      await execute(tx)`UPDATE sequence_generations SET generation = ${next.generation},
        token = ${token}, base = ${next.base}, reserved = ${next.reserved},
        established = ${Number(next.established)} WHERE name = ${this.#name}`
      return next
    })
  }

  /**
   * Reserves up to `to`; may be repeated. `false`: the generation is over, and what lies above its
   * reserve is not its own.
   */
  raise(generation: number, to: number): Promise<boolean> {
    const raised = sql`reserved = CASE WHEN reserved < ${to} THEN ${to} ELSE reserved END`
    return this.#update(raised, generation)
  }

  /**
   * Says that no process acts on an earlier generation any more; may be repeated. `false`: the
   * generation is over.
   */
  establish(generation: number): Promise<boolean> {
    return this.#update(sql`established = 1`, generation)
  }

  /** Takes `count` numbers from the row itself. `undefined`: the generation is over. */
  take(generation: number, count: number): Promise<Taken | undefined> {
    return this.#database.retriedTransaction(async (tx) => {
      const row = await this.#select(tx, forUpdate(tx.dialect))
      if (row?.generation !== generation) return undefined
      const taken = Math.min(count, LAST - row.reserved)
      await execute(tx)`UPDATE sequence_generations SET reserved = ${row.reserved + taken}
        WHERE name = ${this.#name}`
      return { first: row.reserved + 1, count: taken }
    })
  }

  async #update(assignment: Sql, generation: number): Promise<boolean> {
    const { affectedRows } = await execute(this.#database)`UPDATE sequence_generations
      SET ${assignment} WHERE name = ${this.#name} AND generation = ${generation}`
    return affectedRows === 1
  }

  #select(on: Pick<Queryable, 'query'>, locking: string): Promise<Generation | undefined> {
    return selectOne(on, GENERATION)`FROM sequence_generations
      WHERE name = ${this.#name}${raw(locking)}`
  }
}

const GENERATION = {
  generation: Number,
  token: bytesOrNull,
  base: Number,
  reserved: Number,
  established: (value: unknown): boolean => value === 1,
}
