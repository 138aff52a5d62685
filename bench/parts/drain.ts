/**
 * Speed of one collector, beside the most that the database takes, by LOAD DATA and by INSERTs
 * without and with the sums that it keeps, and beside one INSERT a visit; what the ready-made
 * dimensions add, what `keep: 'sums'` saves and what the ledger costs; and what it all takes on the
 * disk. The backlog is
 * that of a site of four processes with 1,000 visits a second each, whose collector was away.
 */
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { memcached as openMemcached } from '../../src/cache/memcached/memcached.js'
import { MysqlDatabase } from '../../src/database/mysql/mysql.js'
import { type Backlog, fill, type Place, PLACE, startOf } from '../drain/backlog.js'
import { checkLedger, checkRows, checkSums } from '../drain/check.js'
import { sizesOf } from '../drain/storage.js'
import { TABLES } from '../drain/tables.js'
import { PAGES, PROCESSES, RATE, VISITORS } from '../drain/visits.js'
import type { Child } from '../harness/child.js'
import { type Chart, linesOf, logChart } from '../harness/chart.js'
import type { Bench } from '../harness/part.js'
import { number, percent, withSpread } from '../harness/table.js'
import { less, more } from '../harness/samples.js'
import { rotated } from '../harness/order.js'

export const COLLECTOR = 'collector'
/** The same, of visits that have values of all ready-made dimensions. */
export const DIMENSIONS = 'collector, with dimensions'
/** The same visits, of which SQL keeps no rows. */
export const SUMS = 'collector, with sums only'
/** The same, with nothing that makes each frame come exactly once. */
export const NO_LEDGER = 'collector, without the ledger'
export const LIMIT = 'raw INSERTs of 1,000'
const CEILING = 'LOAD DATA'
export const WITH_SUMS = 'raw INSERTs and their sums'
export const SINGLE = 'single INSERTs'
const PEERS = new Map([
  [COLLECTOR, 'collector'],
  [DIMENSIONS, 'collector'],
  [SUMS, 'collector'],
  [NO_LEDGER, 'collector-no-ledger'],
  [CEILING, 'load-data'],
  [LIMIT, 'bulk-insert'],
  [WITH_SUMS, 'bulk-insert-sums'],
  [SINGLE, 'single-insert'],
])

export const SPEED = more('rows/s')
export const PEAK = less('peak RSS, MiB')
const HELD = less('event loop held, ms')
export const BYTES = less('bytes/row')
export const STORAGE = 'storage'
export const HEAP = less('heap after gc, MiB')

/** The promises. Memory is what it is from the first backlog that fills a fetch on. */
const LEAST_OF_LIMIT = 0.6
const LEAST_OF_SINGLE = 20
/** With all ready-made dimensions, of the speed without, from the first full commit on. */
const LEAST_WITH_DIMENSIONS = 0.75
const FULL_COMMIT_ROWS = 100_000
/** Longest time for which a drain may hold the event loop, of the rounds of so many rows. */
const MOST_HELD_MS = 15
const FLAT_FROM_ROWS = 100_000
const FLAT_MIB = 96

/**
 * As an operator would have it, the same for all: each commit is on the disk, and the tables fit
 * into memory.
 */
export const MARIADB = [
  '--innodb-flush-log-at-trx-commit=1',
  '--innodb-buffer-pool-size=512M',
  '--innodb-log-file-size=512M',
  '--max-allowed-packet=64M',
]

/** The grid, some of it empty since memcached has fixed sizes of items. */
const MEMCACHED_MB = { quick: 128, normal: 512, full: 2048 }

type Answer = Record<'ms' | 'heldMs' | 'peakMiB' | 'heapMiB', number>

interface Contender {
  readonly label: string
  readonly child: Child
  readonly database: string
}

export async function run(bench: Bench): Promise<Chart> {
  const sizes = bench.setting(
    'rows waiting',
    [1_000, 10_000],
    [1_000, 10_000, 100_000, 1_000_000],
    [1_000, 10_000, 100_000, 1_000_000, 10_000_000],
  )
  const rounds = bench.setting('rounds', [3, 2], [7, 5, 3, 1], [25, 15, 11, 5, 1])
  // More rows would show no other speed, only later.
  const enough = new Map([
    [SINGLE, bench.setting(`${SINGLE}, rows at most`, 300, 500, 5_000)],
    [WITH_SUMS, bench.setting(`${WITH_SUMS}, rows at most`, 10_000, 100_000)],
  ])
  // Collectors run for days: the compiler has seen them begin and end more than once.
  const warmUps = bench.setting('runs to warm up', 2, 10)
  const warmUpRows = bench.setting('rows of a run to warm up', 2_000)
  const site =
    `${number(RATE)} visits/s on ${PROCESSES} processes in frames of 50 ms, ` +
    `${number(VISITORS)} visitors, ${PAGES} pages`
  bench.setting('site', site)

  const memcached = await bench.memcached({ memoryMb: MEMCACHED_MB[bench.mode] })
  const mariadb = await bench.mariadb(MARIADB)
  const cache = bench.closing(openMemcached(memcached.address, { timeoutMs: 10_000 }))
  const sql = bench.closing(await createConnection(mariadb.url()))

  const contenders: Contender[] = []
  for (const [label, peer] of PEERS) {
    const database = `drain_${label.replaceAll(/\W+/g, '_')}`
    const mysqlUrl = await mariadb.createDatabase(database)
    const tables = new MysqlDatabase(mysqlUrl)
    await tables.migrate()
    await tables.close()
    const program = new URL('../drain/process.js', import.meta.url)
    const child = bench.child(program, { execArgv: ['--expose-gc'] })
    await child.ask('open', {
      peer,
      memcached: memcached.address,
      mysqlUrl,
      keep: label === SUMS ? 'sums' : 'rows',
    })
    contenders.push({ label, child, database })
  }

  const rowsOf = (label: string, count: number): number =>
    Math.min(count, enough.get(label) ?? count)

  /**
   * Empty tables, a new backlog, and that many rows of it brought to SQL; what came there is
   * checked.
   */
  async function measure({ label, child, database }: Contender, count: number): Promise<Answer> {
    for (const table of TABLES) await sql.query(`TRUNCATE ${database}.${table}`)
    const rows = rowsOf(label, count)
    const from = startOf(rows)
    let backlog: Backlog | undefined
    const collects = PEERS.get(label)!.startsWith('collector')
    if (collects) {
      await memcached.flush()
      await sql.query(`USE ${database}`)
      const [[place]] = await sql.query<RowDataPacket[]>(PLACE)
      backlog = await fill(cache, place as Place, from, rows, label === DIMENSIONS)
      // The collector was last here before the first of them.
      await sql.query(`UPDATE ${database}.wide_cache_grids SET watermark = ?`, [backlog.watermark])
    }
    const answer = await child.ask<Answer>('bring', { from, count: rows })
    await checkRows(sql, database, from, label === SUMS ? 0 : rows)
    if (label === NO_LEDGER) await checkLedger(sql, database, 0, 0)
    else if (backlog) await checkLedger(sql, database, rows, backlog.frames)
    if (collects || label === WITH_SUMS) {
      const inAll = label === DIMENSIONS ? ['page', 'country', 'device'] : ['page']
      await checkSums(sql, database, from, rows, inAll)
    }
    return answer
  }

  for (let run = 0; run < warmUps; run++) {
    for (const contender of contenders) await measure(contender, warmUpRows)
  }
  for (const [index, size] of sizes.entries()) {
    for (let round = 0; round < rounds[index]!; round++) {
      for (const contender of rotated(contenders, round)) {
        bench.progress(
          `${number(size)} rows, round ${round + 1} of ${rounds[index]}: ${contender.label}`,
        )
        const { ms, heldMs, peakMiB, heapMiB } = await measure(contender, size)
        const add = bench.samples.add.bind(bench.samples, contender.label, String(size))
        add(SPEED, (rowsOf(contender.label, size) / ms) * 1000)
        if (contender.label !== COLLECTOR) continue
        add(HELD, heldMs)
        add(PEAK, peakMiB)
        add(HEAP, heapMiB)
      }
    }
  }
  for (const { child } of contenders) await child.ask('close')

  const collected = contenders.find(({ label }) => label === COLLECTOR)!.database
  await sql.query(`USE ${collected}`)
  bench.progress('storage')
  for (const [table, bytesARow] of await sizesOf(sql, collected)) {
    bench.samples.add(table, STORAGE, BYTES, bytesARow)
  }
  // A few rows in a few rounds show that it runs, and nothing else.
  if (bench.mode !== 'quick') claims(bench, sizes)
  return logChart(
    'Rows per second from grid to SQL, by backlog',
    'rows waiting',
    'rows/s',
    linesOf(bench.samples, [...PEERS.keys()], sizes, SPEED),
  )
}

function claims({ samples, claim }: Bench, sizes: readonly number[]): void {
  for (const size of sizes) {
    const waiting = `${number(size)} rows waiting`
    const times = (ours: string, others: string): number =>
      samples.ratio(ours, others, String(size), SPEED).median
    const [ofLimit, ofSingle] = [times(COLLECTOR, LIMIT), times(COLLECTOR, SINGLE)]
    claim(
      `${waiting}: at least ${percent(LEAST_OF_LIMIT)} of the speed of raw INSERTs ` +
        `(${percent(ofLimit)})`,
      ofLimit >= LEAST_OF_LIMIT,
    )
    claim(
      `${waiting}: at least ${LEAST_OF_SINGLE} times the speed of single INSERTs ` +
        `(${number(ofSingle)})`,
      ofSingle >= LEAST_OF_SINGLE,
    )
    if (size < FULL_COMMIT_ROWS) continue
    const withDimensions = times(DIMENSIONS, COLLECTOR)
    claim(
      `${waiting}: with all ready-made dimensions at least ${percent(LEAST_WITH_DIMENSIONS)} of ` +
        `the speed without (${percent(withDimensions)})`,
      withDimensions >= LEAST_WITH_DIMENSIONS,
    )
    const held = samples.spread(COLLECTOR, String(size), HELD)
    claim(
      `${waiting}: the event loop of the collector is never held for more than ` +
        `${MOST_HELD_MS} ms (${withSpread(held)} ms)`,
      held.median <= MOST_HELD_MS,
    )
  }
  const large = sizes.filter((size) => size >= FLAT_FROM_ROWS)
  const [first, last] = [large[0], large.at(-1)]
  if (first === undefined || last === undefined || first === last) return
  const peak = (size: number): number => Math.max(...samples.of(COLLECTOR, String(size), PEAK))
  claim(
    `Memory does not grow with the backlog: the peak at ${number(last)} rows is at most ` +
      `${FLAT_MIB} MiB over that at ${number(first)} (${number(peak(last))} and ` +
      `${number(peak(first))} MiB)`,
    peak(last) <= peak(first) + FLAT_MIB,
  )
}
