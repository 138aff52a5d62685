import { type DrainHint, MAX_WRITERS } from '../drain-hint.js'
import type { Layers } from '../layers.js'

/** Time for which a writer is named after its last frame: longer than most hold a frame. */
const NAMED_SECONDS = 120

/**
 * The writers whose frames the drains of one grid have found, and how far they have come.
 */
export class DrainedWriters {
  readonly #layers: Layers
  /** Noted since the watermark last rose. */
  readonly #noted = new Map<string, number>()
  /** With the watermark after their last frame, which is in ascending order. */
  readonly #known = new Map<string, { readonly prefix: number; readonly to: number }>()
  #after = -1
  #to = -1

  constructor(layers: Layers) {
    this.#layers = layers
  }

  /** What writers need to know. `lostTo`: see {@link DrainHint}. */
  hint(lostTo: number): DrainHint {
    const prefixes = new Map<string, number>()
    for (const [writer, { prefix }] of this.#known) prefixes.set(writer, prefix)
    return { after: this.#after, to: this.#to, lostTo, prefixes }
  }

  /**
   * Begins a drain above `watermark`. What others have drained meanwhile is known by the hint that
   * the last of them has published.
   */
  async begin(watermark: number, published: () => Promise<DrainHint | undefined>): Promise<void> {
    if (watermark === this.#to) return
    this.#noted.clear()
    this.#known.clear()
    this.#after = this.#to = watermark
    const theirs = await published()
    if (theirs?.to !== watermark) return
    this.#after = theirs.after
    for (const [writer, prefix] of theirs.prefixes) {
      this.#known.set(writer, { prefix, to: watermark })
    }
  }

  /** Notes how far writers have come, after a commit. */
  note(prefixes: ReadonlyMap<string, number>): void {
    for (const [writer, prefix] of prefixes) this.#noted.set(writer, prefix)
  }

  /** Notes that the watermark has risen, and all that has been found below it is committed. */
  raised(to: number): void {
    for (const [writer, prefix] of this.#noted) {
      this.#known.delete(writer)
      this.#known.set(writer, { prefix, to })
    }
    this.#noted.clear()
    this.#to = to
    const oldest = to - Math.max(1, this.#layers.countIn(NAMED_SECONDS))
    for (const [writer, known] of this.#known) {
      if (known.to > oldest && this.#known.size <= MAX_WRITERS) break
      this.#known.delete(writer)
      this.#after = known.to
    }
  }
}
