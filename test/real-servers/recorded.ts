/** The rows that the tests on real servers record, and the wide cache that all their processes share. */
import type { Transaction } from '../../src/database/database.js'
import { WideCache } from '../../src/wide-cache/wide-cache.js'

/** A row: which writer, and its number there. */
export interface Recorded {
  readonly writer: number
  readonly number: number
}

/** What a process is told by its environment. */
export interface Assignment {
  readonly cache: string
  readonly database: string
  /** A collector's schedule, or `false`. */
  readonly collect: string | false
}

/** Layers and waits as short as the options allow, so that a fault and its healing fit into a test. */
export function openRecorded(assignment: Assignment, beforeCommit: () => Promise<void> = async () => undefined): WideCache<Recorded, number> {
  return new WideCache<Recorded, number>({
    ...assignment,
    name: 'recorded',
    layerSeconds: 1,
    drainAfterLayers: 1,
    confirmSeconds: 27,
    logger: { info() {}, warn: (message) => process.stderr.write(`${message}\n`), error: (message) => process.stderr.write(`${message}\n`) },
    async commit(rows: Recorded[], tx: Transaction) {
      for (let at = 0; at < rows.length; at += 1000) {
        const part = rows.slice(at, at + 1000)
        await tx.query(`INSERT INTO recorded (writer, number) VALUES ${part.map(() => '(?, ?)').join(', ')}`, part.flatMap(({ writer, number }) => [writer, number]))
      }
      await beforeCommit()
    },
  })
}

/** The assignment in this process's environment. */
export function assignment(): Assignment & { writer: number; rows: number } {
  const given = process.env['ASSIGNMENT']
  if (!given) throw new Error('this process is started by a test')
  return JSON.parse(given) as Assignment & { writer: number; rows: number }
}
