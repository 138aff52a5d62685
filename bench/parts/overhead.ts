/**
 * What tracking costs a busy Express site: requests a second of "hello" with each contender, in one run, in
 * interleaved rounds; ratios within a round, then their median and quartiles. What was counted is checked
 * against what was served before a figure is printed.
 *
 *     npm run bench:overhead [-- --quick]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { startMariadb } from '../test/servers/mariadb.js'
import { startMemcached } from '../test/servers/memcached.js'
import { median, quantile } from './statistics.js'

const { values: { quick } } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const ROUNDS = quick ? 3 : 15
const SECONDS = quick ? 1 : 3
/** Enough that the compiler has seen what is hot. */
const WARM_UP_SECONDS = quick ? 1 : 5
const CONNECTIONS = 50

const CONTENDERS = [
  { peer: 'nothing', label: '(a) no middleware', keepsAll: true },
  { peer: 'empty-hook', label: '(b) empty finish hook', keepsAll: true },
  { peer: 'wide-cache', label: '(c) wide-cache', keepsAll: true },
  { peer: 'insert-per-visit', label: '(d) one INSERT per visit', keepsAll: true },
  { peer: 'original', label: '(e) get + set of an array', keepsAll: false },
  { peer: 'append-per-visit', label: '(f) one append per visit', keepsAll: false },
] as const

/** Browsers, so that no hash is a stranger for long but not all visits are one visitor's. */
const USER_AGENTS = Array.from({ length: 200 }, (_, i) => `Mozilla/5.0 (X11; Linux x86_64; rv:${100 + i}.0) Gecko/20100101 Firefox/${100 + i}.0`)

interface Site {
  readonly child: ChildProcess
  readonly url: string
  served: number
  readonly rates: number[]
  /** Microseconds of CPU the site's process took for a request, all its work beside it included. */
  readonly cpu: number[]
}

async function answer<T>(child: ChildProcess, question?: string): Promise<T> {
  const reply = once(child, 'message') as Promise<[T]>
  if (question) child.send(question)
  return (await reply)[0]
}

/** Loads the site for so long, and says what a round has shown. */
async function load(site: Site, seconds: number): Promise<{ rate: number; cpu: number }> {
  const before = await answer<number>(site.child, 'cpu')
  const result = await autocannon({
    url: site.url,
    connections: CONNECTIONS,
    duration: seconds,
    requests: USER_AGENTS.map((agent) => ({ method: 'GET', path: '/', headers: { 'user-agent': agent } })),
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${site.url}: ${result.non2xx} bad answers, ${result.errors} errors`)
  site.served += result['2xx']
  const cpu = await answer<number>(site.child, 'cpu') - before
  return { rate: result['2xx'] / result.duration, cpu: cpu / result['2xx'] }
}

const memcached = await startMemcached()
const mariadb = await startMariadb()
const sites = new Map<string, Site>()
try {
  for (const { peer } of CONTENDERS) {
    const database = `bench_${peer.replaceAll('-', '_')}`
    await mariadb.createDatabase(database)
    const child = fork(new URL('./server.js', import.meta.url), { execArgv: [], env: { ...process.env, NODE_ENV: 'production', PEER: peer, MEMCACHED: memcached.address, MYSQL_URL: mariadb.url(database) } })
    const { port } = await answer<{ port: number }>(child)
    sites.set(peer, { child, url: `http://127.0.0.1:${port}`, served: 0, rates: [], cpu: [] })
  }
  for (const site of sites.values()) await load(site, WARM_UP_SECONDS)
  for (let round = 0; round < ROUNDS; round++) {
    process.stderr.write(`\rround ${round + 1} of ${ROUNDS} `)
    // Another order each round, so that no contender always runs on the heels of the same one.
    for (let i = 0; i < CONTENDERS.length; i++) {
      const { peer } = CONTENDERS[(i * 5 + round) % CONTENDERS.length]!
      const site = sites.get(peer)!
      const { rate, cpu } = await load(site, SECONDS)
      site.rates.push(rate)
      site.cpu.push(cpu)
      await answer(site.child, 'count')
    }
  }
  process.stderr.write('\n')

  const rows = []
  for (const { peer, label, keepsAll } of CONTENDERS) {
    const site = sites.get(peer)!
    const { count } = await answer<{ count?: number }>(site.child, 'count')
    // autocannon cuts off up to one request a connection at the end of a round: served, but not counted by it.
    const cutOff = CONNECTIONS * (ROUNDS + 1)
    if (count !== undefined && keepsAll && (count < site.served || count > site.served + cutOff)) {
      throw new Error(`${label} has ${count} visits of ${site.served} to ${site.served + cutOff} served`)
    }
    const against = (other: string): number[] => site.rates.map((rate, i) => rate / sites.get(other)!.rates[i]!)
    rows.push({ label, rate: median(site.rates), ofA: spread(against('nothing')), ofB: spread(against('empty-hook')), cpu: median(site.cpu), cpuSamples: site.cpu, rates: site.rates, served: site.served, counted: count ?? null })
  }
  console.table(Object.fromEntries(rows.map(({ label, rate, cpu, ofA, ofB, counted }) =>
    [label, { 'requests/s': Math.round(rate), 'of (a)': shown(ofA), 'of (b)': shown(ofB), 'CPU µs a request': Math.round(cpu), visits: counted ?? '' }])))
  console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}; ${ROUNDS} interleaved rounds of ${SECONDS} s, ${CONNECTIONS} connections; median (quartiles)`)
  mkdirSync(new URL('./results/', import.meta.url), { recursive: true })
  writeFileSync(new URL('./results/overhead.json', import.meta.url), `${JSON.stringify({ node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, rounds: ROUNDS, seconds: SECONDS, connections: CONNECTIONS, rows }, undefined, 2)}\n`)
} finally {
  for (const { child } of sites.values()) if (child.connected) child.send('close')
  await Promise.all([...sites.values()].map(({ child }) => (child.exitCode === null ? once(child, 'exit') : undefined)))
  await memcached.stop()
  await mariadb.stop()
}

function spread(ratios: readonly number[]): { median: number; low: number; high: number } {
  return { median: median(ratios), low: quantile(ratios, 0.25), high: quantile(ratios, 0.75) }
}

function shown({ median, low, high }: { median: number; low: number; high: number }): string {
  const percent = (ratio: number): string => `${(ratio * 100).toFixed(1)} %`
  return `${percent(median)} (${percent(low)}-${percent(high)})`
}
