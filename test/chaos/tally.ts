/** The number of times that each row of each life is in a table. */
export class Tally {
  /** All rows. */
  rows = 0
  /** Rows that are there once too often. */
  again = 0
  /** Rows that SQL was to refuse. */
  refused = 0
  readonly #ofLife = new Map<string, { rows: number; numbers: Set<number> }>()

  /** Counts a row. One that is to be refused has a negative number. */
  add(life: string, number: number): void {
    this.rows++
    if (number < 0) this.refused++
    const known = this.#ofLife.get(life) ?? { rows: 0, numbers: new Set() }
    this.#ofLife.set(life, known)
    known.rows++
    if (known.numbers.has(number)) this.again++
    known.numbers.add(number)
  }

  has(life: string, number: number): boolean {
    return this.#ofLife.get(life)?.numbers.has(number) ?? false
  }

  /** Every life that has rows, and how many. */
  *lives(): Generator<[life: string, rows: number]> {
    for (const [life, { rows }] of this.#ofLife) yield [life, rows]
  }
}
