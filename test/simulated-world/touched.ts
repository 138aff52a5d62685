/** A request for things that have names. */
interface Uses {
  readonly actor: string
  readonly reads?: readonly string[]
  readonly writes?: readonly string[]
}

/** The things that actors read and change, such as cache keys and tables. */
export class Touched {
  readonly #readers = new Map<string, Set<string>>()
  readonly #writers = new Map<string, Set<string>>()
  /** Before it is set, and of a thing that is new since then, all is taken for shared. */
  isComplete = false

  note({ actor, reads = [], writes = [] }: Uses): void {
    if (this.isComplete) return
    for (const thing of reads) noteIn(this.#readers, thing, actor)
    for (const thing of writes) noteIn(this.#writers, thing, actor)
  }

  /** Tells whether it makes a difference if a request comes before or after another actor's. */
  isShared({ actor, reads = [], writes = [] }: Uses): boolean {
    if (!this.isComplete) return true
    const isOfAnother = (actors: ReadonlySet<string> | undefined): boolean =>
      actors !== undefined && [...actors].some((other) => other !== actor)
    const isNew = (thing: string): boolean => !this.#readers.has(thing) && !this.#writers.has(thing)
    return (
      [...reads, ...writes].some(
        (thing) => isNew(thing) || isOfAnother(this.#writers.get(thing)),
      ) || writes.some((thing) => isOfAnother(this.#readers.get(thing)))
    )
  }
}

function noteIn(users: Map<string, Set<string>>, thing: string, actor: string): void {
  const actors = users.get(thing) ?? new Set()
  users.set(thing, actors.add(actor))
}
