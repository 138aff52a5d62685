/** The model's answers as tables: what sites of a few sizes need, and where the design ends. */
import { number, percent, type Table } from '../harness/table.js'
import { CAPACITY, type Constants, endsOf, type Load, type Needs, needsOf } from '../model.js'
import { GRID, LIMITS } from './grid-model.js'

const SIZES: readonly Load[] = [
  { processes: 10, rate: 100 },
  { processes: 100, rate: 300 },
  { processes: 1_000, rate: 1_000 },
]

const mega = (bytes: number): string => `${number(Number((bytes / 1e6).toPrecision(3)))} MB`

const LINES: readonly (readonly [name: string, of: (needs: Needs) => string])[] = [
  ['visits/s', ({ visits }) => number(visits)],
  ['visits a frame', ({ rowsPerFrame }) => number(Number(rowsPerFrame.toPrecision(3)))],
  ['of a core, in each web process', ({ webShare }) => percent(webShare)],
  ['grids, each with one collector at work', ({ grids }) => number(grids)],
  ['width of each; the least that fits', ({ width, leastWidth }) => `${width}; ${leastWidth}`],
  [
    'a cell: frames, bytes',
    ({ framesPerCell, cellBytes }) =>
      `${number(Number(framesPerCell.toPrecision(2)))}, ${number(Math.round(cellBytes))}`,
  ],
  ['cache operations/s', ({ cacheOperations }) => number(Math.round(cacheOperations))],
  ['cache traffic a second, in and out', ({ cacheBytes }) => mega(cacheBytes)],
  [
    'cache memory; collectors away a minute',
    ({ cacheMemory, cacheMemoryAway }) => `${mega(cacheMemory)}; ${mega(cacheMemoryAway)}`,
  ],
  [
    'memcached servers, for their',
    ({ servers, serversFor }) => `${number(servers)}, ${serversFor}`,
  ],
  ['SQL rows written/s, sums and ledger included', ({ sqlRows }) => number(Math.round(sqlRows))],
  ['rows of a day', ({ visits }) => number(visits * 86_400)],
  ['frames/s through the ledger', ({ ledgerFrames }) => number(Math.round(ledgerFrames))],
  ['SQL servers, by their CPU alone', ({ databases }) => number(databases)],
  ['outbox of a process, at most', ({ outboxBytes }) => mega(outboxBytes)],
  ['visit to confirmation, at most', ({ confirmSeconds }) => `${number(confirmSeconds)} s`],
]

export function modelTables(constants: Constants): Table[] {
  const needs = SIZES.map((load) => ({
    title: `${number(load.processes)} x ${number(load.rate)}/s`,
    needs: needsOf(load, constants),
  }))
  const { cacheCores, cacheNetworkBytes, cacheMemoryBytes, databaseCores, used } = CAPACITY
  const assumed =
    `memcached servers of ${cacheCores} cores, ${mega(cacheNetworkBytes)}/s ` +
    `each way and ${cacheMemoryBytes / 2 ** 30} GiB, SQL servers of ` +
    `${databaseCores} cores, all used to ${percent(used)}; layers of ` +
    `${GRID.layerSeconds} s, collected every ${GRID.periodSeconds} s`
  const rate = SIZES.at(-1)!.rate
  return [
    {
      title: `Calculated from ${constants.source}; assumed: ${assumed}.`,
      rows: LINES.map(([name, of]) => ({
        'web processes x visits/s': name,
        ...Object.fromEntries(needs.map(({ title, needs }) => [title, of(needs)])),
      })),
    },
    {
      title:
        `Where one grid on one database ends, as web processes of ${number(rate)} ` +
        `visits/s are added (a grid has at most ${number(LIMITS.width)} columns).`,
      rows: endsOf(rate, constants).map(({ resource, visits, change }) => ({
        'what gives out': resource,
        'at visits/s': number(Number(visits.toPrecision(3))),
        'what to change': change,
      })),
    },
  ]
}
