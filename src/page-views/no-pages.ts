import { pathOf } from './path.js'

/** Extensions of what browsers show in a tab or save, and that is never HTML. */
const EXTENSIONS = [
  'atom|css|csv|ics|js|json|jsonld|map|md|mjs|rss|tsv|txt|vcf|wasm|webmanifest|xml|ya?ml',
  'avif|bmp|gif|heic|ico|jpe?g|png|svg|tiff?|webp',
  'm4[av]|mov|mp[34]|mpeg|og[agv]|wav|webm',
  'docx?|epub|od[pst]|pdf|pptx?|rtf|xlsx?',
  'eot|otf|ttf|woff2?|gz|tar|zip',
]
const EXTENSION = new RegExp(`\\.(?:${EXTENSIONS.join('|')})$`, 'i')

/** Bytes of remembered targets; about a thousand of usual ones. */
const MAX_BYTES = 128 * 1024

/** Characters of a target that is remembered. */
const MAX_TARGET = 1_024

/** Bytes of a remembered target beside its own. */
const ENTRY_BYTES = 64

/**
 * Targets that lead to something other than a page, though a browser asked for one: a picture or a
 * PDF that is opened in a tab. A 304 does not say what it is of. The oldest are forgotten.
 */
export class NoPages {
  readonly #targets = new Set<string>()
  #bytes = 0

  /** Tells whether a target is known to lead to no page, by its extension or its last answer. */
  has(target: string): boolean {
    return EXTENSION.test(pathOf(target)) || this.#targets.has(target)
  }

  get isEmpty(): boolean {
    return this.#targets.size === 0
  }

  /** Forgets a target, which has led to a page. */
  delete(target: string): void {
    if (this.#targets.delete(target)) this.#bytes -= sizeOf(target)
  }

  /** Notes that a target has led to no page. */
  add(target: string): void {
    if (target.length > MAX_TARGET || this.#targets.has(target) || EXTENSION.test(pathOf(target))) {
      return
    }
    this.#targets.add(target)
    this.#bytes += sizeOf(target)
    for (const oldest of this.#targets) {
      if (this.#bytes <= MAX_BYTES) break
      this.#targets.delete(oldest)
      this.#bytes -= sizeOf(oldest)
    }
  }
}

function sizeOf(target: string): number {
  return 2 * target.length + ENTRY_BYTES
}
