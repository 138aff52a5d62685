/** A group of real MySQL servers on 127.0.0.1 that replicate to each other; one takes writes. */
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { eventually } from '../../src/support/eventually.fixture.js'
import { freePort } from './free-port.js'
import { type MariaDb, startMariadb } from './mariadb.js'

export interface Group {
  readonly members: readonly MariaDb[]
  /** The member that takes writes, as the others see it. */
  primary(): Promise<MariaDb>
  /** Runs statements on a member. */
  tell(member: MariaDb, ...statements: string[]): Promise<Record<string, unknown>[]>
  /** Resolves once all see `count` members online. */
  complete(count: number): Promise<void>
}

const ONLINE =
  'SELECT member_port AS port, member_role AS role ' +
  "FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'"

export async function startGroup(count: number): Promise<Group> {
  const first = await freePort(count)
  const addresses = Array.from({ length: count }, (_, n) => `127.0.0.1:${first + n}`)
  const name = randomUUID()
  const members = await Promise.all(
    addresses.map((address, n) =>
      startMariadb([
        `--server-id=${n + 1}`,
        '--log-bin=binlog',
        '--relay-log=relay',
        '--gtid-mode=ON',
        '--enforce-gtid-consistency=ON',
        '--report-host=127.0.0.1',
        '--plugin-load-add=group_replication.so',
        `--loose-group-replication-group-name=${name}`,
        `--loose-group-replication-local-address=${address}`,
        `--loose-group-replication-group-seeds=${addresses.join()}`,
        '--loose-group-replication-start-on-boot=OFF',
        '--loose-group-replication-recovery-get-public-key=ON',
        '--loose-group-replication-consistency=BEFORE_ON_PRIMARY_FAILOVER',
      ]),
    ),
  )
  for (const [n, member] of members.entries()) {
    // All are copies of one folder, which has an id.
    await member.stop()
    rmSync(join(dirname(member.socket), 'data', 'auto.cnf'), { force: true })
    await member.restart()
    const { username, password } = new URL(member.url())
    await tell(
      member,
      // What each has done alone, such as making its user, would be news to the others.
      'RESET BINARY LOGS AND GTIDS',
      `CHANGE REPLICATION SOURCE TO SOURCE_USER = '${username}', SOURCE_PASSWORD = ` +
        `'${password}' FOR CHANNEL 'group_replication_recovery'`,
      `SET GLOBAL group_replication_bootstrap_group = ${n === 0 ? 'ON' : 'OFF'}`,
      'START GROUP_REPLICATION',
      'SET GLOBAL group_replication_bootstrap_group = OFF',
    )
  }
  const group: Group = {
    members,
    tell,
    async primary() {
      const seen = await Promise.all(members.map((member) => tell(member, ONLINE).catch(() => [])))
      const port = seen
        .toSorted((a, b) => b.length - a.length)[0]!
        .find(({ role }) => role === 'PRIMARY')?.['port']
      return members.find((member) => member.port === Number(port))!
    },
    complete: (expected) =>
      eventually(`${expected} members are online`, async () => {
        const seen = await Promise.all(
          members.map((member) => tell(member, ONLINE).catch(() => [])),
        )
        return seen.filter((online) => online.length === expected).length === expected
      }).then(() => undefined),
  }
  await group.complete(count)
  return group
}

async function tell(member: MariaDb, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const connection = await createConnection({ socketPath: member.socket, user: 'root' })
  try {
    let rows: unknown = []
    for (const sql of statements) [rows] = await connection.query(sql)
    return rows as Record<string, unknown>[]
  } finally {
    connection.destroy()
  }
}
