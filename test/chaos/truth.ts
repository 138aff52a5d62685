/**
 * The record of what a writer has recorded, kept in a file that the writer appends to,
 * synchronously, before it records: after a SIGKILL at any moment the file tells the truth, up to
 * its last row. One line each: `row <time>`, `poison <time>` (a row that SQL refuses),
 * `report <time>` (a view that a browser reports), `answered <number> <time>` (that report),
 * `step <time>` (SQL has answered its process), `closing <time>`, `closed <reports>`. Rows are
 * numbered by their order, and so are reports.
 */
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { CloseReport } from '../../src/index.js'

/** Keeps the truth of this process. */
export class TruthKeeper {
  readonly #file: number
  #rows = 0
  #reports = 0

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  /** Enters a row and returns its number. */
  row(time: number, poison: boolean): number {
    this.#line(poison ? 'poison' : 'row', time)
    return this.#rows++
  }

  /** Enters a report and returns its number. */
  report(time: number): number {
    this.#line('report', time)
    return this.#reports++
  }

  answered(report: number, time: number): void {
    this.#line('answered', `${report} ${time}`)
  }

  step(time: number): void {
    this.#line('step', time)
  }

  closing(time: number): void {
    this.#line('closing', time)
  }

  closed(reports: readonly CloseReport[]): void {
    this.#line('closed', JSON.stringify(reports))
    closeSync(this.#file)
  }

  #line(word: string, value: number | string): void {
    writeSync(this.#file, `${word} ${value}\n`)
  }
}

/** Contents of a writer's file. */
export interface Truth {
  /**
   * Time at which each row was recorded, in milliseconds since the Unix epoch, by a clock that is
   * right.
   */
  readonly times: number[]
  /** Time at which each report was answered; `Infinity`: nobody knows whether it was. */
  readonly reports: number[]
  readonly steps: number[]
  /** Numbers of the rows that SQL refuses. */
  readonly poison: Set<number>
  /**
   * The first row that was recorded after `close()` was called; the number of all rows if there is
   * none.
   */
  afterClose: number
  /** What `close()` of each part said; `undefined`: it did not close in order. */
  closed: readonly CloseReport[] | undefined
}

/** Reads a writer's file. A writer that was killed before it began has none. */
export function readTruth(path: string): Truth {
  const truth: Truth = {
    times: [],
    reports: [],
    steps: [],
    poison: new Set(),
    afterClose: Infinity,
    closed: undefined,
  }
  if (!existsSync(path)) return truth
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const space = line.indexOf(' ')
    const [word, value] = [line.slice(0, space), line.slice(space + 1)]
    if (word === 'closing') truth.afterClose = truth.times.length
    else if (word === 'closed') truth.closed = JSON.parse(value) as CloseReport[]
    else if (word === 'step') truth.steps.push(Number(value))
    else if (word === 'report') truth.reports.push(Infinity)
    else if (word === 'answered') {
      const [number, time] = value.split(' ').map(Number)
      truth.reports[number!] = time!
    } else if (word === 'row' || word === 'poison') {
      if (word === 'poison') truth.poison.add(truth.times.length)
      truth.times.push(Number(value))
    }
  }
  truth.afterClose = Math.min(truth.afterClose, truth.times.length)
  return truth
}
