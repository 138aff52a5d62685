/** Cells on one database, and what became of the visits of all of them. */
import { createPool, type Pool } from 'mysql2/promise'
import type { MariaDb } from '../../test/servers/mariadb.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import type { Bench } from '../harness/part.js'
import { type Cell, databaseOf, type Site, startCell } from './cell.js'
import type { Contender } from './contenders.js'
import { openTable } from './table.js'

/** Many connections of many processes, which share a machine with what they measure. */
const DATABASE_OPTIONS = ['--max-connections=2000', '--innodb-buffer-pool-size=512M']

export interface Sql {
  readonly mariadb: MariaDb
  readonly pool: Pool
}

type Given = Pick<Site, 'contenders' | 'webProcesses' | 'options'> & {
  readonly count: number
  /** The moment at which a contender's period begins in a cell. */
  readonly since: (contender: Contender, cell: number) => number
}

/** A database with the tables of the contenders. */
export async function startSql(bench: Bench, contenders: readonly Contender[]): Promise<Sql> {
  bench.progress('starting the database')
  const mariadb = await bench.mariadb(DATABASE_OPTIONS)
  const pool = createPool({ uri: mariadb.url(), connectionLimit: 2 })
  bench.after(() => pool.end())
  for (const contender of contenders) {
    await openTable(mariadb, databaseOf(contender), contender.table)
  }
  return { mariadb, pool }
}

export async function startCells(
  bench: Bench,
  { mariadb }: Sql,
  { count, since, ...given }: Given,
): Promise<Cell[]> {
  const folder = temporaryFolder('faults')
  bench.after(() => removeFolder(folder))
  const cells: Cell[] = []
  for (let number = 0; number < count; number++) {
    bench.progress(`starting site ${number + 1} of ${count}`)
    const own = (contender: Contender): number => since(contender, number)
    cells.push(await startCell(bench, { ...given, number, mariadb, folder, since: own }))
  }
  return cells
}

/** Resolves when all is in SQL that ever comes. `wait`: after it the rest is brought at once. */
export async function endCells(cells: readonly Cell[], wait: Promise<unknown>): Promise<void> {
  for (const cell of cells) cell.stopTraffic()
  await wait
  await Promise.all(cells.map((cell) => cell.finish()))
}
