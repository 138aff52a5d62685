/** Runs one part: hands it its servers, and prints and keeps what it found. */
import type { Program } from '../../test/servers/binaries.js'
import { ensureBinaries } from '../../test/servers/binaries.js'
import { startFaultyTcp } from '../../test/servers/faulty-tcp.js'
import { startMariadb } from '../../test/servers/mariadb.js'
import { startMemcached } from '../../test/servers/memcached.js'
import { startPostgres } from '../../test/servers/postgres.js'
import { startRedis } from '../../test/servers/redis.js'
import { Child } from './child.js'
import { commitOf, machine, versions } from './machine.js'
import type { Bench, Mode, Part } from './part.js'
import { formOf, sourcesOf } from './parts.js'
import { type Claim, RESULTS, write } from './result.js'
import { type Measure, Samples } from './samples.js'
import { markdown, type Table, withSpread } from './table.js'

/** The proxy keeps what it has passed on, for tests, until it is told to forget. */
const FORGET_MS = 250

/**
 * Whether all that was claimed has been shown. The result goes to `folder`, named after the part.
 */
export async function run(
  name: string,
  part: Part,
  mode: Mode,
  folder = RESULTS,
): Promise<boolean> {
  const began = performance.now()
  const sources = sourcesOf(name)
  // While it runs, others may commit.
  const commit = commitOf(sources)
  const settings: Record<string, unknown> = {}
  const claims: Claim[] = []
  const programs = new Set<Program>()
  const afterwards: (() => unknown)[] = []
  const progress = progressOf(name)

  async function started<T extends { stop(): unknown }>(
    program: Program,
    start: () => Promise<T>,
  ): Promise<T> {
    programs.add(program)
    ensureBinaries([program])
    const server = await start()
    afterwards.push(() => server.stop())
    return server
  }

  const bench: Bench = {
    mode,
    samples: new Samples(),
    setting(of, quick, normal = quick, full = normal) {
      const value = { quick, normal, full }[mode]
      settings[of] = value
      return value
    },
    progress,
    claim: (text, holds) => void claims.push({ text, holds }),
    memcached: (options) => started('memcached', () => startMemcached(options)),
    mariadb: (options) => started('mariadb', () => startMariadb(options)),
    postgres: (settings) => started('postgres', () => startPostgres(settings)),
    redis: (options) => started('redis', () => startRedis(options)),
    async proxy(target) {
      const proxy = await startFaultyTcp(target)
      const forgetting = setInterval(() => proxy.forget(), FORGET_MS)
      afterwards.push(() => {
        clearInterval(forgetting)
        return proxy.close()
      })
      return proxy
    },
    child: (program, how) => bench.closing(new Child(program, how)),
    closing(opened) {
      afterwards.push(() => ('end' in opened ? opened.end() : opened.close()))
      return opened
    },
    after: (work) => void afterwards.push(work),
  }

  console.log(`\n## ${name}\n`)
  try {
    const chart = await part.run(bench)
    progress('')
    const result = {
      part: name,
      mode,
      form: formOf(name),
      commit,
      sources,
      date: new Date().toISOString(),
      seconds: Math.round((performance.now() - began) / 1000),
      machine: machine(),
      versions: versions(programs),
      settings,
      claims,
      measures: bench.samples.measures(),
      ...(chart && { chart }),
    }
    write(result, folder)
    for (const table of tablesOf(result.measures)) console.log(markdown(table))
    for (const { text, holds } of claims) console.log(`${holds ? 'shown' : 'NOT SHOWN'}: ${text}`)
    const { cpu, cores, memoryGiB } = result.machine
    console.log(
      `${cores} x ${cpu}, ${memoryGiB} GiB; ${Object.entries(result.versions)
        .map((pair) => pair.join(' '))
        .join(', ')}; ${result.seconds} s; median (middle half)`,
    )
  } finally {
    progress('')
    for (const work of afterwards.reverse()) {
      try {
        await work()
      } catch (error) {
        console.error(
          `${name}: tidying up: ${error instanceof Error ? error.message : String(error)}`,
        )
      }
    }
  }
  return claims.every(({ holds }) => holds)
}

/** A table for each metric: contenders beside settings, the more of both in rows. */
export function tablesOf(measures: readonly Measure[]): Table[] {
  const distinct = (values: readonly string[]): string[] => [...new Set(values)]
  return distinct(measures.map(({ metric }) => metric)).map((title) => {
    const own = measures.filter(({ metric }) => metric === title)
    const contenders = distinct(own.map(({ contender }) => contender))
    const settings = distinct(own.map(({ setting }) => setting))
    const [row, column, rows, columns] =
      settings.length > contenders.length
        ? (['setting', 'contender', settings, contenders] as const)
        : (['contender', 'setting', contenders, settings] as const)
    const cell = (one: string, other: string): string => {
      const found = own.find((measure) => measure[row] === one && measure[column] === other)
      return found ? withSpread(found) : ''
    }
    const cells = (one: string) =>
      Object.fromEntries(columns.map((other) => [other, cell(one, other)]))
    return { title, rows: rows.map((one) => ({ [row]: one, ...cells(one) })) }
  })
}

function progressOf(name: string): (text: string) => void {
  const { stderr } = process
  if (!stderr.isTTY) return () => {}
  return (text) => void stderr.write(`\r\x1b[K${text && `${name}: ${text}`}`)
}
