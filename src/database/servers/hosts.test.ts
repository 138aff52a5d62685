import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptLog } from '../../support/kept-log.fixture.js'
import { BurstLogger } from '../../support/logger.js'
import { DatabaseError, type QueryResult } from '../database.js'
import { Hosts } from './hosts.js'
import type { ServerSession, ServerSessions } from './sessions.js'

/** What a host may be like, and the category of the error of one that cannot be used. */
const STATES = {
  'is fine': undefined,
  'refuses connections': 'unreachable',
  'knows no such user': 'usage',
  'breaks connections': 'unreachable',
  'is read-only': 'capacity',
  'is silent': 'unreachable',
  'has another database': 'unreachable',
} as const
type State = keyof typeof STATES

const ALL = Object.keys(STATES) as State[]

/** A host, and the sessions on it that are open. */
class Host implements ServerSessions {
  readonly maxStatementBytes = 1
  readonly open = new Set<ServerSession>()
  state: State = 'is fine'
  readonly place: string

  constructor(place: string) {
    this.place = place
  }

  async acquire(): Promise<ServerSession> {
    const { state } = this
    const category = STATES[state]
    if (category && /^(?:refuses|knows|breaks)/.test(state)) {
      const unsent = state !== 'breaks connections'
      throw new DatabaseError(`CODE_${this.place}`, category, `${this.place} ${state}`, { unsent })
    }
    const session = {
      maxStatementBytes: 1,
      query: async (sql: string) => this.#answer(sql),
      transaction: () => assert.fail(),
      recycle: async () => void this.open.delete(session),
    }
    this.open.add(session)
    return session
  }

  end(session: ServerSession): void {
    assert(this.open.delete(session), 'a session is ended once')
  }

  leave(): void {}
  dropSilent(): void {}
  async close(): Promise<void> {}

  #answer(sql: string): QueryResult {
    if (this.state === 'is silent') {
      throw new DatabaseError('ETIMEDOUT', 'unreachable', `${this.place} is silent`)
    }
    const id = this.state === 'has another database' ? 'another' : 'own'
    const writable = this.state === 'is read-only' ? 0 : 1
    return { rows: [sql === 'WRITABLE' ? { writable } : { id }], affectedRows: 0 }
  }
}

/** Three hosts. The first one is in use when they become what `states` says. */
async function inUse(states: readonly State[]) {
  const log = keptLog()
  const three = ['A', 'B', 'C'].map((place) => new Host(place))
  const hosts = new Hosts<ServerSession>(
    three,
    async (query) => (await query('WRITABLE')).rows[0]?.['writable'] === 1,
    new BurstLogger(log, () => 0),
  )
  await (await hosts.acquire()).recycle()
  for (const [at, state] of states.entries()) three[at]!.state = state
  return { hosts, three, log }
}

/** What is said of a host that cannot be used. */
function said({ place, state }: Host): string {
  return `${place} ${state === 'has another database' ? 'has another database than' : state}`
}

for (const first of ALL) {
  test(`of three hosts, the first ${first}: the first that can be used is used`, async () => {
    for (const second of ALL) {
      for (const third of ALL) {
        const states = [first, second, third]
        const { hosts, three, log } = await inUse(states)
        const used = three.find(({ state }) => state === 'is fine')
        const moves = () => log.matching(/ is now used through /)
        const open = () => three.flatMap((host) => [...host.open])
        if (used) {
          const session = await hosts.acquire()
          assert([...used.open].includes(session), String(states))
          assert.deepEqual(open(), [session], String(states))
          assert.equal(moves().length, used === three[0] ? 0 : 1)
          for (const line of moves()) {
            assert(
              line.includes(`through ${used.place} instead of A. The reason: ${said(three[0]!)}`),
            )
          }
          continue
        }
        await assert.rejects(hosts.acquire(), (error) => {
          assert(error instanceof DatabaseError)
          for (const host of three) assert(error.message.includes(said(host)), error.message)
          const passing = three.find(({ state }) => STATES[state] !== 'usage') ?? three[0]!
          assert.equal(error.category, STATES[passing.state])
          assert.equal(error.unsent, !states.includes('breaks connections'), String(states))
          return true
        })
        assert.deepEqual([open(), moves()], [[], []], String(states))
      }
    }
  })
}

test('an error of this process itself is thrown as it is, and the host stays', async () => {
  for (const code of ['DATABASE_CLOSED', 'DATABASE_QUEUE_FULL', 'DATABASE_DRIVER_MISSING']) {
    const { hosts, three, log } = await inUse([])
    const [one] = three
    const own = new DatabaseError(code, 'capacity', 'of this process')
    const acquire = one!.acquire.bind(one)
    one!.acquire = () => Promise.reject(own)
    await assert.rejects(hosts.acquire(), own)
    one!.acquire = acquire
    const session = await hosts.acquire()
    assert.deepEqual([[...one!.open], log.lines], [[session], []], code)
  }
})

test('a connection is asked once whether its server is the right one', async () => {
  let asked = 0
  const session: ServerSession = {
    maxStatementBytes: 1,
    async query() {
      asked++
      return { rows: [{ id: 'own' }], affectedRows: 0 }
    },
    transaction: () => assert.fail(),
    recycle: async () => undefined,
  }
  const host: ServerSessions = {
    place: 'A',
    maxStatementBytes: 1,
    acquire: async () => session,
    end: () => assert.fail(),
    leave() {},
    dropSilent() {},
    close: async () => undefined,
  }
  const hosts = new Hosts(
    [host, new Host('B')],
    async () => true,
    new BurstLogger(keptLog(), () => 0),
  )
  for (let uses = 0; uses < 3; uses++) assert.equal(await hosts.acquire(), session)
  assert.equal(asked, 1)
})
