/**
 * What `wide-cache quarantine` and `wide-cache parked` share: they list what the package has set
 * aside because it failed, show one of it, and act on some or all of it.
 */
import { unlocked } from '../connections/unlocked.js'
import type { Database } from '../database/database.js'
import { systemEnvironment } from '../support/environment.js'
import { printableJson } from '../support/printable.js'
import type { Action } from './arguments.js'
import { refuseUnknownName } from './existing.js'
import type { CommandLog } from './log.js'
import { textTable } from './table.js'

/** The most of each kind that are listed. */
const MAX_LISTED = 1_000

const PAST = { retry: 'retried', drop: 'dropped', skip: 'skipped' } as const

type Fields = Readonly<Record<string, string | number | null>>

/** The database, the flags of the command, and its outputs. */
interface Asked {
  readonly database: Database
  readonly name: string | undefined
  readonly json: boolean
  readonly log: CommandLog
  readonly print: (text: string) => void
}

/** Ids are as the list has them. */
export abstract class SetAside<One, Id extends string | number, Verb extends keyof typeof PAST> {
  /** Statement that selects all names that have been used. */
  protected abstract readonly names: string
  /** Headings of the list, and which field is below each. */
  protected abstract readonly columns: Readonly<Record<string, string>>
  protected abstract readonly texts: {
    readonly nothing: string
    readonly listed: (count: number) => string
    /** Says that what is to be shown is missing. */
    readonly missing: (id: Id) => string
    /** The reason why what is missing is refused. */
    readonly whyMissing: (id: Id) => string
    readonly stays: (id: Id) => string
    readonly done: (done: number, rows: number, verb: Verb) => string
  }
  protected readonly asked: Asked

  constructor(asked: Asked) {
    this.asked = asked
  }

  /** Returns the first of each kind. */
  protected abstract first(limit: number): Promise<readonly One[][]>
  protected abstract one(id: Id): Promise<One | undefined>
  /** Returns one as the list has it. */
  protected abstract listed(one: One): Fields & { readonly id: Id }
  /** Returns what `show` prints, as an object and as text. */
  protected abstract shown(one: One): Promise<readonly [object: object, text: string]>
  /** Returns the rows done, or the reason why it stays. `undefined`: it is no longer there. */
  protected abstract act(one: One, verb: Verb): Promise<number | string | undefined>
  /** Returns the amounts that a report has. */
  protected abstract amounts(done: number, rows: number): Readonly<Record<string, number>>

  /** Returns those that `all` stands for: what is listed. */
  protected async *all(): AsyncGenerator<One> {
    yield* (await this.#first()).ones
  }

  /** Returns the exit status. @throws Error, DatabaseError */
  async run(action: Action<Id, Verb>): Promise<number> {
    const { database, name } = this.asked
    if (name !== undefined) {
      const { rows } = await database.query(this.names)
      refuseUnknownName(
        name,
        rows.map((row) => String(row['name'])),
      )
    }
    if ('id' in action) return this.#show(action.id)
    return 'ids' in action ? this.#act(action.verb, action.ids) : this.#list()
  }

  async #first(): Promise<{ readonly ones: One[]; readonly areMore: boolean }> {
    const kinds = await this.first(MAX_LISTED + 1)
    return {
      ones: kinds.flatMap((found) => found.slice(0, MAX_LISTED)),
      areMore: kinds.some((found) => found.length > MAX_LISTED),
    }
  }

  async #list(): Promise<number> {
    const { json, log, print } = this.asked
    const { ones, areMore } = await this.#first()
    const listed = ones.map((one) => this.listed(one))
    if (json) print(`${printableJson(listed)}\n`)
    else if (listed.length > 0) {
      const fields = Object.values(this.columns)
      const lines = listed.map((one) => fields.map((field) => one[field] ?? ''))
      print(textTable([Object.keys(this.columns), ...lines]))
    }
    if (listed.length === 0) log.info(`wide-cache: ${this.texts.nothing}`)
    if (areMore) log.info(`wide-cache: ${this.texts.listed(listed.length)}; there are more`)
    return 0
  }

  async #show(id: Id): Promise<number> {
    const { json, log, print } = this.asked
    const one = await this.one(id)
    if (!one) {
      log.warn(`wide-cache: ${this.texts.missing(id)}`, { id })
      return 1
    }
    const [object, text] = await this.shown(one)
    print(json ? `${printableJson(object)}\n` : text)
    return 0
  }

  async #act(verb: Verb, ids: readonly Id[] | 'all'): Promise<number> {
    const { json, log, print } = this.asked
    const refused: { readonly id: Id; readonly reason: string }[] = []
    let done = 0
    let rows = 0
    try {
      for await (const [id, one] of this.#of(ids)) {
        const result = one && (await unlocked(systemEnvironment, () => this.act(one, verb)))
        if (typeof result === 'number') {
          done++
          rows += result
        } else if (ids !== 'all' || result !== undefined) {
          refused.push({ id, reason: result ?? this.texts.whyMissing(id) })
        }
      }
    } finally {
      // Also where it cannot go on: what it has done by then is done.
      const amounts = this.amounts(done, rows)
      if (json) print(`${printableJson({ [PAST[verb]]: { ...amounts, refused } })}\n`)
      else {
        log.info(`wide-cache: ${PAST[verb]} ${this.texts.done(done, rows, verb)}`, amounts)
        for (const { id, reason } of refused) {
          log.warn(`wide-cache: ${this.texts.stays(id)}: ${reason}`, { id, reason })
        }
      }
    }
    return refused.length > 0 ? 1 : 0
  }

  async *#of(ids: readonly Id[] | 'all'): AsyncGenerator<readonly [id: Id, one: One | undefined]> {
    if (ids === 'all') for await (const one of this.all()) yield [this.listed(one).id, one]
    else for (const id of ids) yield [id, await this.one(id)]
  }
}
