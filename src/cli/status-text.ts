/** A status as text for people, at most 80 columns wide. */
import { printable } from '../support/printable.js'
import { UTC_ZONE } from '../support/time-zone.js'
import type { GridFigures, NameState } from '../wide-cache/operations/name-state.js'
import { amount, textTable } from './table.js'

/** Grids shown of a name: each start of a process with `memory:` leaves one for 30 days. */
const MAX_GRIDS = 5

const INDENT = '  '

/** Tables shown, the largest first. */
const MAX_TABLES = 8

/** Data that the command prints. */
export interface Status {
  /** The database's clock, in milliseconds since the Unix epoch. */
  readonly readAt: number
  readonly names: readonly NameState[]
  /** The bytes of each table, with its indexes, as the database knows them. */
  readonly tables: Readonly<Record<string, number>>
}

export function statusText({ readAt, names, tables }: Status): string {
  const sizes = Object.entries(tables)
  const others = sizes.slice(MAX_TABLES)
  const shown = others.length > 0 ? sizes.slice(0, MAX_TABLES) : sizes
  return [
    names.length === 0 ? 'No process has used this database yet.\n' : '',
    ...names.map((state) => nameText(state)),
    textTable([
      ['TABLE', 'SIZE'],
      ...shown.map(([name, bytes]) => [name, bytesText(bytes)]),
      ...(others.length === 0
        ? []
        : [
            [
              `${others.length} others`,
              bytesText(others.reduce((sum, [, bytes]) => sum + bytes, 0)),
            ],
          ]),
    ]),
    `\nas of ${new Date(readAt).toISOString()}, by the clock of the database\n`,
  ].join('')
}

function nameText({ name, readAt, settings, ledger, grids, quarantine }: NameState): string {
  const figures: (readonly [string, number])[] = [
    ['issued', ledger.issued],
    ['committed', ledger.committed],
    ['outstanding', ledger.outstanding],
    ['quarantined', ledger.quarantined],
    ['dropped', ledger.dropped],
    ['lost', ledger.lost],
    ['owed', ledger.owed],
    ['duplicate', ledger.duplicate],
  ]
  const others: (readonly [string, string])[] = [
    [
      'processes seen',
      `${amount(ledger.writersSeen)} in ${spanText(settings.vanishedSeconds * 1000)}`,
    ],
    [
      settings.keep === 'sums' ? 'no rows; sums are kept' : 'rows are kept',
      settings.keepSeconds === 0 ? 'not said' : keptText(settings.keepSeconds),
    ],
    ...(settings.historyDays === 0
      ? []
      : [['values by the hour', `${settings.historyDays} days`] as const]),
    ...(settings.timeZone === undefined || settings.timeZone.name === UTC_ZONE.name
      ? []
      : [['days of', settings.timeZone.name] as const]),
    ['cells live', spanText(settings.cellTtlSeconds * 1000)],
    ['in quarantine', quarantineText({ readAt, quarantine })],
  ]
  const lines = Math.max(figures.length, others.length)
  return (
    `${printable(`${name}  (${settings.kind})`)}\n` +
    textTable(
      Array.from({ length: lines }, (_, at) => {
        const [word, count] = figures[at] ?? ['', '']
        return [
          word,
          typeof count === 'number' ? amount(count).padStart(15) : '',
          ...(others[at] ?? []),
        ]
      }),
      INDENT,
    ) +
    (settings.gridName === name
      ? gridsText(grids, readAt)
      : `  its frames go through the grids of ${printable(settings.gridName)}\n\n`)
  )
}

function gridsText(grids: readonly GridFigures[], readAt: number): string {
  const shown = grids.slice(0, MAX_GRIDS)
  const more = grids.length - shown.length
  return (
    textTable(
      [
        ['GRID', 'CACHE', 'DRAINED TO', 'LAG', 'LAYERS', 'LAST RUN', 'ROWS', 'TOOK'],
        ...shown.map(({ width, layerSeconds, privateTo, drainedTo, lagMs, layersWaiting, run }) => [
          `${width} x ${layerSeconds} s`,
          privateTo === null ? 'shared' : 'private',
          timeText(drainedTo),
          spanText(lagMs),
          layersWaiting,
          run ? `${spanText(readAt - run.at)} ago` : 'never',
          run ? amount(run.rows) : '',
          run ? `${amount(run.ms)} ms` : '',
        ]),
      ],
      INDENT,
    ) +
    (more > 0 ? `  and ${amount(more, 'grid')} more\n` : '') +
    '\n'
  )
}

function quarantineText({ readAt, quarantine }: Pick<NameState, 'readAt' | 'quarantine'>): string {
  const { frames, unreadable, oldestAt } = quarantine
  if (oldestAt === null) return 'nothing'
  const others = unreadable > 0 ? `, ${amount(unreadable)} unreadable` : ''
  return `${amount(frames, 'frame')}${others}, since ${spanText(readAt - oldestAt)}`
}

/** Whole days as days, and other times as hours, so that no rounded time passes for the option. */
function keptText(seconds: number): string {
  const isShort = seconds < 7_200
  const isWholeDays = seconds >= 172_800 && seconds % 86_400 === 0
  if (isShort || isWholeDays) return spanText(seconds * 1000)
  return `${amount(Math.round(seconds / 360) / 10)} h`
}

/** `2 s`, `3 min`, `5 h`, `9 d`: what a glance needs. */
function spanText(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${amount(Math.round(seconds / 86_400))} d`
}

/** Without the year, for a column that is narrow. */
function timeText(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '?' : date.toISOString().slice(5, 19).replace('T', ' ')
}

function bytesText(bytes: number): string {
  const kib = bytes / 1024
  return kib < 1024 ? `${Math.ceil(kib)} KiB` : `${amount(Math.ceil(kib / 1024))} MiB`
}
