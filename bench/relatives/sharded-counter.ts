/**
 * What sharding and sharing bring: increments a second of one number on MariaDB, from one process with 20
 * connections, for 1, 8 and 64 callers that each wait for their own commit. The total is checked before a
 * figure is printed.
 *
 *     node --import tsx bench/relatives/sharded-counter.ts
 */
import { mysql } from '../../src/database/mysql.js'
import { Tables } from '../../src/database/tables.js'
import { systemEnvironment } from '../../src/support/environment.js'
import { Lane } from '../../src/counters/lane.js'
import { ShardedCounter } from '../../src/counters/sharded-counter.js'
import { Shards } from '../../src/counters/shards.js'
import { startFaultyTcp } from '../../test/servers/faulty-tcp.js'
import { startMariadb } from '../../test/servers/mariadb.js'
import { median } from '../statistics.js'

const SECONDS = 0.5
const ROUNDS = 4
/** How late the answers of a database on a network come. */
const AWAY_MS = 2
const WARM_UP_SECONDS = 0.3
const CALLERS = [1, 8, 64]

interface Contender {
  readonly label: string
  /** A caller's own way to add 1. */
  caller(): () => Promise<unknown>
  total(): Promise<number>
}

const mariadb = await startMariadb(['--innodb-flush-log-at-trx-commit=1'])
const database = mysql(`${mariadb.url()}?connectionLimit=20`)
await database.migrate()
await database.query('CREATE TABLE bench (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB')
await database.query('INSERT INTO bench VALUES (1, 0)')

function unshared(label: string, name: string, count: number, on = database): Contender {
  const tables = new Tables(on, systemEnvironment)
  const shards = new Shards(tables, systemEnvironment, name, count)
  return {
    label,
    caller() {
      // A lane for each, so that nobody waits for another's transaction.
      const lane = new Lane(tables, systemEnvironment, name)
      return () => lane.commit((tx) => shards.add(tx, 1))
    },
    total: () => shards.total(),
  }
}

const counter = new ShardedCounter({ name: 'shared', database, cache: 'memory:' })
const contenders: Contender[] = [
  {
    label: 'single-row UPDATE',
    caller: () => () => database.query('UPDATE bench SET n = n + 1 WHERE id = 1'),
    total: async () => Number((await database.query('SELECT n FROM bench')).rows[0]?.['n']),
  },
  unshared('1 shard, without coalescing', 'one', 1),
  unshared('20 shards, without coalescing', 'twenty', 20),
  { label: '20 shards, with coalescing', caller: () => () => counter.increment(), total: () => counter.get({ exact: true }) },
]

async function rate(contender: Contender, callers: number, seconds = SECONDS): Promise<number> {
  const before = await contender.total()
  let done = 0
  const began = performance.now()
  const end = began + seconds * 1000
  await Promise.all(Array.from({ length: callers }, async () => {
    const increment = contender.caller()
    while (performance.now() < end) {
      await increment()
      done++
    }
  }))
  const took = (performance.now() - began) / 1000
  const counted = (await contender.total()) - before
  if (counted !== done) throw new Error(`${contender.label}: ${done} increments came to ${counted}`)
  return done / took
}

// Interleaved, so that whatever else the machine is doing falls on all alike; ratios within a round.
const rates = contenders.map(() => CALLERS.map((): number[] => []))
for (const contender of contenders) await rate(contender, 8, WARM_UP_SECONDS)
for (let round = 0; round < ROUNDS; round++) {
  for (const [column, callers] of CALLERS.entries()) {
    for (const [row, contender] of contenders.entries()) rates[row]![column]!.push(await rate(contender, callers))
  }
}
console.log(`increments a second (and times the first row)`.padEnd(46) + CALLERS.map((callers) => `${callers} callers`.padStart(16)).join(''))
for (const [row, { label }] of contenders.entries()) {
  const cells = CALLERS.map((_, column) => {
    const mine = rates[row]![column]!
    const ratio = median(mine.map((one, round) => one / rates[0]![column]![round]!))
    return `${Math.round(median(mine))} (${ratio.toFixed(1)}x)`.padStart(16)
  })
  console.log(label.padEnd(46) + cells.join(''))
}
const last = CALLERS.length - 1
const shardsBring = rates[2]![last]!.map((one, round) => one / rates[1]![last]![round]!)
console.log(`without coalescing, ${CALLERS[last]} callers: 20 shards make ${median(shardsBring).toFixed(2)} times 1 shard`)

// A transaction holds its row's lock for as long as an answer takes: on a network, not on one machine.
const proxy = await startFaultyTcp(`127.0.0.1:${mariadb.port}`)
proxy.delay(AWAY_MS)
const distant = mysql(`${mariadb.url().replace(`:${mariadb.port}/`, `:${proxy.port}/`)}?connectionLimit=20`)
const [one, twenty] = [unshared('1 shard', 'one', 1, distant), unshared('20 shards', 'twenty', 20, distant)]
const away: number[] = []
await Promise.all([one, twenty].map((contender) => rate(contender, 8, WARM_UP_SECONDS)))
for (let round = 0; round < ROUNDS; round++) away.push(1 / (await rate(one, CALLERS[last]!)) * (await rate(twenty, CALLERS[last]!)))
console.log(`the same with the database ${AWAY_MS} ms away: ${median(away).toFixed(2)} times`)
await Promise.all([counter.close(), distant.close(), proxy.close()])
await database.close()
await mariadb.stop()
