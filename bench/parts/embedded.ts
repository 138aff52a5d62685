/**
 * A site of one process that has neither memcached nor a server of SQL: what a request costs with
 * the embedded cache and SQLite, how fast the process brings its visits to SQL, how long it answers
 * no requests meanwhile, and what a visit takes on the disk. Beside it those who write to SQLite
 * themselves: one INSERT per visit, and a buffer that is written at once.
 */
import { join } from 'node:path'
import { TYPESCRIPT } from '../../scripts/typescript/exec-argv.js'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { CONTENDERS, type ContenderName } from '../embedded/names.js'
import type { Longest } from '../embedded/turns.js'
import type { Child } from '../harness/child.js'
import { type Chart, linesOf, logChart } from '../harness/chart.js'
import type { Bench, Metric } from '../harness/part.js'
import { number } from '../harness/table.js'
import { less, more } from '../harness/samples.js'

export const CPU = less('CPU µs/request')
export const IN_SQL = less('CPU µs/request until in SQL')
export const SPEED = more('rows/s')
export const REMOVED = more('rows/s removed')
export const STATS = less('stats, ms')
export const BYTES = less('bytes/visit')
export const TURNS = {
  held: less('longest turn, ms'),
  own: less('longest turn without waiting for a processor, ms'),
  cpu: less('CPU of the longest turn, ms'),
} as const satisfies Record<keyof Longest, Metric>

export const REQUESTS = 'requests'
/** The setting of a retention that removes so many rows. */
export const removing = (size: number | string): string => `${size} removed`

const OURS: readonly ContenderName[] = ['rows', 'rows, with dimensions', 'sums']
const BESIDE: readonly ContenderName[] = ['INSERT', 'buffer']

/** The promise: no request waits for longer. */
const MOST_HELD_MS = 20

export async function run(bench: Bench): Promise<Chart> {
  const sizes = bench.setting('rows waiting', [1_000, 10_000], [1_000, 100_000, 1_000_000])
  const rounds = bench.setting('rounds', [2, 2], [5, 3, 1], [15, 9, 5])
  const requests = bench.setting('requests a round', 1_000, 4_000)
  const requestRounds = bench.setting('rounds of requests', 2, 5, 31)
  const visits = bench.setting('visits in the window', 10_000, 100_000)
  const times = bench.setting('reads', 5, 20)
  // More rows would show no other speed, only later.
  const enough = bench.setting('INSERT, rows at most', 5_000, 50_000)

  const folder = temporaryFolder('embedded')
  bench.after(() => removeFolder(folder))
  const opened = async (name: ContenderName, use: string): Promise<Child> => {
    const program = new URL('../embedded/process.ts', import.meta.url)
    const child = bench.child(program, { execArgv: ['--expose-gc', ...TYPESCRIPT] })
    await child.ask('open', { name, file: join(folder, `${CONTENDERS.indexOf(name)}-${use}.db`) })
    return child
  }

  const sites = new Map<ContenderName, Child>()
  for (const name of CONTENDERS) sites.set(name, await opened(name, 'requests'))
  await measureRequests(bench, sites, requests, requestRounds)
  for (const site of sites.values()) await site.ask('close')

  const children = new Map<ContenderName, Child>()
  for (const name of [...BESIDE, ...OURS]) children.set(name, await opened(name, 'backlog'))
  for (const [index, size] of sizes.entries()) {
    for (let round = 0; round < rounds[index]!; round++) {
      for (const name of [...BESIDE, ...OURS]) {
        bench.progress(`${number(size)} rows, round ${round + 1} of ${rounds[index]}: ${name}`)
        const count = name === 'INSERT' ? Math.min(size, enough) : size
        await measureBacklog(bench, name, children.get(name)!, size, count)
      }
    }
  }
  for (const child of children.values()) await child.ask('close')

  for (const name of [...BESIDE, ...OURS]) {
    bench.progress(`reading, and the disk: ${name}`)
    const child = await opened(name, 'reads')
    const { ms } = await child.ask<{ ms: number[] }>('stats', { count: visits, times })
    for (const each of ms) bench.samples.add(name, String(visits), STATS, each)
    const { bytes } = await child.ask<{ bytes: number }>('close')
    bench.samples.add(name, String(visits), BYTES, bytes / visits)
  }
  if (bench.mode !== 'quick') claims(bench, sizes)
  return logChart(
    'Rows per second from memory to SQLite, by backlog',
    'rows waiting',
    'rows/s',
    linesOf(bench.samples, [...BESIDE, ...OURS], sizes, SPEED),
  )
}

async function measureRequests(
  bench: Bench,
  children: ReadonlyMap<ContenderName, Child>,
  count: number,
  rounds: number,
): Promise<void> {
  // The first round warms up.
  for (let round = -1; round < rounds; round++) {
    for (const [name, child] of children) {
      bench.progress(`requests, round ${round + 1} of ${rounds}: ${name}`)
      const { micros, behind, counted } = await child.ask<
        Record<'micros' | 'behind' | 'counted', number>
      >('requests', { count })
      const all = (round + 2) * count
      if (name !== 'nothing' && counted !== all) {
        throw new Error(`${name}: ${counted} visits are in SQL of ${all}`)
      }
      if (round < 0) continue
      bench.samples.add(name, REQUESTS, CPU, micros / count)
      bench.samples.add(name, REQUESTS, IN_SQL, (micros + behind) / count)
    }
  }
}

type Brought = Readonly<Record<'ms' | 'counted', number>> & { readonly longest: Longest }

async function measureBacklog(
  { samples }: Bench,
  name: ContenderName,
  child: Child,
  size: number,
  count: number,
): Promise<void> {
  const { ms, longest, counted } = await child.ask<Brought>('bring', { count })
  if (counted !== count) throw new Error(`${name}: ${counted} visits are in SQL of ${count}`)
  samples.add(name, String(size), SPEED, (count / ms) * 1000)
  const addTurns = (setting: string, turns: Longest): void => {
    for (const key of ['held', 'own', 'cpu'] as const) {
      samples.add(name, setting, TURNS[key], turns[key])
    }
  }
  // Its INSERTs have a turn each, but not here.
  if (name !== 'INSERT') addTurns(String(size), longest)
  if (OURS.includes(name)) {
    const removal = await child.ask<Brought>('removeAll')
    samples.add(name, removing(size), REMOVED, (count / removal.ms) * 1000)
    addTurns(removing(size), removal.longest)
  }
  await child.ask('empty')
}

/**
 * Other programs take the processor from this one in some rounds. What it does for too long itself,
 * it does in every round, and its processor time shows it in each.
 */
function claims({ samples, claim }: Bench, sizes: readonly number[]): void {
  const all = sizes.flatMap((size) => OURS.map((name) => [size, name] as const))
  for (const [size, name] of all) {
    for (const what of ['draining', 'removing']) {
      const setting = what === 'draining' ? String(size) : removing(size)
      const own = Math.min(...samples.of(name, setting, TURNS.own))
      const cpu = Math.max(...samples.of(name, setting, TURNS.cpu))
      claim(
        `${name}: ${what} ${number(size)} visits never holds the event loop for more than ` +
          `${MOST_HELD_MS} ms (${number(own)} ms in the calmest round, ${number(cpu)} ms of ` +
          'its own CPU time in any)',
        own <= MOST_HELD_MS && cpu <= MOST_HELD_MS,
      )
    }
  }
}
