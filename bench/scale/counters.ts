/**
 * Counters that servers keep of their own work, as the difference of two readings, less the cost of
 * reading.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { since, sum } from '../harness/statistics.js'

export type CacheWork = ReturnType<typeof cacheWork>

/** Counters of one server. `bytes`: to and from it; `lookBytes`: those of this look. */
type Look = Readonly<
  Record<'operations' | 'bytes' | 'cpuMicros' | 'lookBytes' | 'evictions', number>
>

const QUESTION = 'stats\r\n'

/**
 * Every command that the wide cache uses, each counted once: a `cmd_set` is a set, an add or an
 * append.
 */
const COMMANDS = [
  'cmd_get',
  'cmd_set',
  'cmd_touch',
  'delete_hits',
  'delete_misses',
  'incr_hits',
  'incr_misses',
] as const

/** `commands`: those that are counted as operations. */
export async function lookAtCaches(
  ports: readonly number[],
  commands: readonly (typeof COMMANDS)[number][] = COMMANDS,
): Promise<readonly Look[]> {
  return Promise.all(
    ports.map(async (port) => {
      const text = await stats(port)
      const of = (name: string): number =>
        Number(new RegExp(`STAT ${name} (\\S+)`).exec(text)?.[1] ?? NaN)
      return {
        operations: sum(commands.map(of)),
        bytes: of('bytes_read') + of('bytes_written'),
        cpuMicros: Math.round((of('rusage_user') + of('rusage_system')) * 1e6),
        evictions: of('evictions'),
        lookBytes: text.length + QUESTION.length,
      }
    }),
  )
}

/**
 * Work of all servers. `unevenness`: the share of the server that had most of the operations, times
 * the number of servers: 1 is even.
 */
export function cacheWork(before: readonly Look[], after: readonly Look[]) {
  const each = after.map((now, at) => since(before[at]!, now))
  const total = (name: keyof Look): number => sum(each.map((server) => server[name]))
  const operations = total('operations')
  return {
    operations,
    bytes: total('bytes') - sum(before.map(({ lookBytes }) => lookBytes)),
    cpuMicros: total('cpuMicros'),
    unevenness: (Math.max(...each.map((server) => server.operations)) * each.length) / operations,
  }
}

function stats(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(QUESTION))
    socket.on('data', (data) => {
      text += data.toString('latin1')
      if (!text.endsWith('END\r\n')) return
      socket.destroy()
      resolve(text)
    })
    socket.once('error', reject)
    socket.setTimeout(10_000, () =>
      socket.destroy(new Error(`memcached on port ${port} does not say its stats`)),
    )
  })
}

/** `rowsWritten`: inserted, updated and deleted, in all tables. */
export type SqlWork = Record<'statements' | 'rowsWritten' | 'cpuMicros', number>

/** `pid`: of the server, whose CPU time Linux tells in hundredths of a second. */
export async function lookAtDatabase(connection: Connection, pid: number): Promise<SqlWork> {
  const [rows] = await connection.query<RowDataPacket[]>(
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Handler_write', " +
      "'Handler_update', 'Handler_delete')",
  )
  const of = new Map(rows.map((row) => [String(row['Variable_name']), Number(row['Value'])]))
  const number = (name: string): number => of.get(name) ?? NaN
  return {
    statements: number('Questions'),
    rowsWritten: sum(['Handler_write', 'Handler_update', 'Handler_delete'].map(number)),
    cpuMicros: cpuMicros(pid),
  }
}

export function sqlWork(before: SqlWork, after: SqlWork): SqlWork {
  const work = since(before, after)
  // The second look is one.
  return { ...work, statements: work.statements - 1 }
}

/** Returns the CPU time of all threads, by /proc. 0 where there is none. */
export function cpuMicros(pid: number): number {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return 0
  }
  // The name before them, in brackets, may hold spaces.
  const [user, system] = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return (user! + system!) * 10_000
}
