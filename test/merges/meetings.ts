/**
 * Processes that differ, and write the same rows: each meeting names the columns in which they
 * meet.
 */
import { packDimensions } from '../../src/activity/packed-dimensions.js'
import { removeValue } from '../../src/activity/remove-value.js'
import { removeOldVisits } from '../../src/activity/retention.js'
import type { Visit } from '../../src/activity/visit.js'
import { CollisionFreeMap } from '../../src/collision-free-map/collision-free-map.js'
import { ExportQueue } from '../../src/export-queue/export-queue.js'
import { DAY_MS, HOUR_MS } from '../../src/support/clock.js'
import { jsonCodec } from '../../src/support/exact-json.js'
import { systemEnvironment } from '../../src/support/environment.js'
import { BurstLogger, SILENT } from '../../src/support/logger.js'
import { ClockWatch } from '../../src/wide-cache/clock-watch.js'
import type { Frame } from '../../src/wide-cache/frame.js'
import { GridRecord } from '../../src/wide-cache/ledger/grid-record.js'
import { Ledger } from '../../src/wide-cache/ledger/ledger.js'
import { enterName, type GivenSettings } from '../../src/wide-cache/ledger/name-settings.js'
import { removeOldEntries } from '../../src/wide-cache/ledger/retention.js'
import { Sender } from '../../src/wide-cache/ledger/sender.fixture.js'
import type { Site } from '../readers/site.js'

export const NOW = Date.UTC(2026, 4, 20, 12, 30)

export interface Meeting {
  readonly what: string
  /** The columns of each table in which they meet, with the values of its rows afterwards. */
  readonly leaves: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Comes before the processes. */
  before?(site: Site, name: string): Promise<unknown>
  /** The work of each process, which differ. */
  readonly processes: readonly ((site: Site, name: string) => Promise<unknown>)[]
}

const DAYS_AGO = (days: number): number => NOW - days * DAY_MS
const RETENTION = { rowsMs: 30 * DAY_MS, valuesDays: 30, vanishedSeconds: 3600 }

const visit = (time: number, person: number, page: string, device = 'phone'): Visit => ({
  time,
  visitor: Buffer.alloc(12, person),
  page,
  dimensions: packDimensions(['device', device]),
})

async function enter(site: Site, name: string, nameSettings: GivenSettings, seconds = 60) {
  const lives = {
    cellTtlSeconds: seconds,
    directSeconds: seconds + 1,
    vanishedSeconds: seconds + 2,
  }
  await enterName(site.database, { name, kind: 'activity', ...lives, nameSettings })
}

const closesDays = ({ database }: Site, name: string): Promise<unknown> =>
  removeOldVisits(database, { now: NOW, name }, RETENTION)

function grid(flushMs: number) {
  return async ({ database }: Site, name: string): Promise<void> => {
    const record = new GridRecord({
      name,
      flushMs,
      drainAfterLayers: 2,
      geometry: { width: 15, layerSeconds: 3 },
      scope: 'shared',
      owner: Buffer.alloc(16),
      newId: systemEnvironment.newId,
    })
    await record.enter(database, NOW, 60)
  }
}

function ledger({ database }: Site, name: string): Ledger<unknown> {
  const { clock } = systemEnvironment
  return new Ledger({
    database,
    measures: [{ name, commit: async () => undefined }],
    clock,
    cellTtlSeconds: 60,
    periodSeconds: 3,
    codec: jsonCodec(),
    record: undefined as never,
    watch: new ClockWatch(clock, new BurstLogger(SILENT, () => 0)),
  })
}

/** The frames of one writer, of different sizes, with a floor that rises and rows dropped. */
function frames(): readonly Frame[] {
  const sender = new Sender(Buffer.alloc(16, 7))
  const rows = (count: number) => Array.from({ length: count }, (_, row) => row)
  return [
    sender.frame(0, { rows: rows(1), floorAt: NOW - 9_000, dropped: 1 }),
    sender.frame(1, { rows: rows(2), floorAt: NOW - 8_000, dropped: 2 }),
    sender.frame(2, { rows: rows(4), floor: 1, floorAt: NOW - 3_000, dropped: 5 }),
    sender.frame(3, { rows: rows(8), floor: 1, floorAt: NOW - 4_000, dropped: 5 }),
    sender.frame(4, { rows: rows(16), floor: 3, floorAt: NOW - 5_000, dropped: 6 }),
  ]
}

const brings =
  (...sequences: number[]) =>
  (site: Site, name: string): Promise<unknown> =>
    ledger(site, name).commit(sequences.map((sequence) => frames()[sequence]!))

const totals =
  (issued: number, dropped: number, ago: number) => async (site: Site, name: string) => {
    const { now } = site
    site.now -= ago
    await ledger(site, name).enterTotals(name, { writer: Buffer.alloc(16, 9), issued, dropped })
    site.now = now
  }

const forgets =
  (byte: number) =>
  async ({ database }: Site, name: string) => {
    await database.query(
      'INSERT INTO wide_cache_writers (name, writer, issued, committed, duplicate, quarantined, ' +
        'dropped, last_seen) VALUES (?, ?, ?, ?, ?, ?, ?, 0)',
      [name, Buffer.alloc(16, byte), 20 * byte, 5 * byte, 2 * byte, 3 * byte, byte],
    )
    await removeOldEntries(database, name, NOW)
  }

const exports =
  (count: number) =>
  async ({ database }: Site, name: string) => {
    const queue = new ExportQueue<string, number>({
      database,
      name: name,
      logger: SILENT,
      every: false,
      exporter: () => undefined,
    })
    for (let n = 0; n < count; n++) await database.transaction((tx) => queue.add(`k${n}`, n, tx))
    await queue.process()
    await queue.close()
  }

const updates =
  (n: number) =>
  async ({ database }: Site, name: string) => {
    const map = new CollisionFreeMap({
      database,
      name: name,
      logger: SILENT,
      every: false,
      combine: (_key, current = 0, updates) =>
        updates.reduce((sum, update) => sum + update, current),
    })
    await map.update([['a', n]])
    await map.process()
    await map.close()
  }

export const MEETINGS: readonly Meeting[] = [
  {
    what: 'processes that flush at different times enter one grid',
    leaves: { wide_cache_grids: { flush_ms: '3000' } },
    processes: [grid(50), grid(3_000), grid(500)],
  },
  {
    what: 'processes with different options enter one name',
    leaves: {
      wide_cache_names: {
        cell_ttl_seconds: '900',
        direct_seconds: '901',
        vanished_seconds: '902',
        keep_seconds: '77760000',
        history_days: '940',
      },
    },
    processes: [60, 900, 300].map((seconds) => (site, name) => {
      const keepSeconds = { value: 86_400 * seconds, counts: 'longest' } as const
      const historyDays = { value: 1000 - seconds, counts: 'longest' } as const
      return enter(site, name, { keepSeconds, historyDays }, seconds)
    }),
  },
  {
    what: 'transactions commit views of one second, one visitor, and a day that is closed',
    leaves: {
      activity_books: { views: '13', changes: '6' },
      activity_seconds: { views: '1 6 3 2 1', sums_only: '1 6 3 2 1' },
      activity_hours: { views: '1 6 3 2 1', late: '0 6 0 0 0' },
      activity_visitors: {
        last_second: '1779021000 1779235200 1779276600',
        last_slice: '5930070 5930784 5930922',
        first_second: '1779021000 1779235200 1779269400',
        hours: '4096 1 3584',
      },
      activity_hour_values: { views: '1 6 3 2 1 1 6 3 2 1' },
    },
    async before(site, name) {
      await enter(site, name, { keep: { value: 'sums', counts: 'last' } })
      await site.view(name, 'served', [visit(DAYS_AGO(3), 1, '/')])
      await closesDays(site, name)
    },
    processes: [1, 3, 2].map((n) => (site, name) => {
      const late = visit(DAYS_AGO(4), 2, '/late')
      const now = visit(NOW - n * HOUR_MS, 3, `/${n % 2}`)
      return site.view(name, 'served', [
        ...Array<Visit>(n).fill(late),
        ...Array<Visit>(n).fill(now),
      ])
    }),
  },
  {
    what: 'transactions commit the hits of one item, and the same viewing',
    leaves: {
      hits_viewings: { times: '2 1' },
      hits_hours: { hits: '17' },
      hits_days: { hits: '17' },
      hits_counts: { hits: '17' },
    },
    processes: [4, 6, 5].map((n) => (site, name) => {
      const hit = { time: NOW, item: 'a', viewer: null }
      const seen = { ...hit, viewer: Buffer.alloc(12, n === 6 ? 4 : n) }
      return site.hit(name, 'served', [...Array<typeof hit>(n).fill(hit), seen])
    }),
  },
  {
    what: 'processes update one key of a map',
    leaves: { collision_free_map_values: { map_value: '15' } },
    processes: [updates(4), updates(6), updates(5)],
  },
  {
    what: 'values of a closed day are removed',
    leaves: {
      activity_day_values: { views: '6 6' },
      activity_closed_values: { day_weight: '100162626 0', hour_weight: '193741674 93579048' },
    },
    async before(site, name) {
      const pages = ['/a', '/b', '/b', '/c', '/c', '/c']
      await site.view(
        name,
        'served',
        pages.map((page) => visit(DAYS_AGO(3), 1, page)),
      )
      await closesDays(site, name)
    },
    processes: ['/a', '/c', '/b'].map(
      (page) =>
        ({ database }, name) =>
          removeValue(database, name, 'page', page),
    ),
  },
  {
    what: 'collectors remove seconds of one hour',
    leaves: { activity_hours: { removed: '6' } },
    before: (site, name) =>
      site.view(
        name,
        'served',
        [1, 2, 2, 3, 3, 3].map((second) => visit(DAYS_AGO(1) + second * 1_000, 1, '/')),
      ),
    processes: [2, 4, 3].map((second) => ({ database }, name) => {
      const now = DAYS_AGO(1) + second * 1_000
      return removeOldVisits(database, { now, name }, { ...RETENTION, rowsMs: 0 })
    }),
  },
  {
    what: 'collectors bring the frames of one writer, some of them twice',
    leaves: {
      wide_cache_writers: {
        issued: '31',
        dropped: '6',
        floor: '3',
        floor_issued: '7',
        floor_at: '1779280195000',
        committed: '30',
        duplicate: '4',
      },
      wide_cache_ranges: { last_sequence: '4', row_count: '30' },
    },
    processes: [brings(1, 2), brings(4), brings(2, 3)],
  },
  {
    what: 'a collector refuses what others bring',
    leaves: { wide_cache_writers: { quarantined: '2', committed: '13', gone: '7', prefix: '3' } },
    processes: [
      brings(0),
      (site, name) => ledger(site, name).quarantine(frames().slice(1, 2), 'refused'),
      brings(2, 3),
    ],
  },
  {
    what: "a writer's own sums come late",
    leaves: { wide_cache_writers: { issued: '7', dropped: '5', last_seen: '1779280200000' } },
    processes: [totals(1, 5, 0), totals(7, 0, 9_000), totals(3, 2, 3_000)],
  },
  {
    what: 'old writers are forgotten',
    leaves: {
      wide_cache_writers: {
        issued: '120',
        committed: '30',
        duplicate: '12',
        quarantined: '18',
        dropped: '6',
        lost: '72',
      },
    },
    processes: [forgets(1), forgets(3), forgets(2)],
  },
  {
    what: 'processes give versions to entries of one queue',
    leaves: { export_queue_versions: { last_version: '6' } },
    processes: [exports(1), exports(3), exports(2)],
  },
]

const DECIDED = 'The first process that records decides, by one statement'
const LOCKED = 'Written under the lock of its own row, from what was read there'
const CLOSED = 'Written once, by the transaction that closes the day'

/** Columns in which nobody meets, or where the last one counts: the reason. */
export const OTHERS: Readonly<Record<string, string>> = {
  'activity_certificates....CLOSING_COLUMNS': CLOSED,
  'activity_certificates.views': CLOSED,
  'activity_certificates.late': CLOSED,
  'activity_certificates.visitors': CLOSED,
  'activity_certificates.hours': CLOSED,
  'activity_certificates.first_hour': CLOSED,
  'activity_certificates.end_hour': CLOSED,
  'activity_closed_values.views': CLOSED,
  'activity_hours.visitors': CLOSED,
  'activity_notes.text': 'The last note on a day counts',
  'global_counter_shards.generation': LOCKED,
  'global_counter_shards.value': LOCKED,
  'sharded_counter_shards.of_shards': LOCKED,
  'sharded_counter_shards.value': LOCKED,
  'wide_cache_grids.used_at': 'The last use counts, and renews itself',
  'wide_cache_joining.seen_at': 'Each process has a row of its own',
  'wide_cache_joining.since': 'Each process has a row of its own',
  'wide_cache_names.repeat_seconds': 'The last process that gives the option counts',
  'wide_cache_names.time_zone': DECIDED,
  'wide_cache_names.hour_lead': DECIDED,
  'wide_cache_names.given_zone': 'The last process that gives the option counts',
  'wide_cache_names.keeps': 'The last process that gives the option counts',
  'wide_cache_names.direct_to': 'The last proof of a write counts, by one statement',
  'wide_cache_names.writable_since': 'The last proof of a write counts, by one statement',
  'wide_cache_names.written_at': 'The last proof of a write counts, by one statement',
  'wide_cache_writers.lost': LOCKED,
  'wide_cache_writers.aging_floor': LOCKED,
  'wide_cache_writers.aging_issued': LOCKED,
  'wide_cache_writers.aging_since': LOCKED,
  'wide_cache_writers.gone_at': LOCKED,
}
