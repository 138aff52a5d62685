import type { Queryable, Transaction } from '../database/database.js'
import {
  given,
  integer,
  identifier,
  onlyKnown,
  optionalFunction,
  wrongType,
  wrongValue,
} from '../support/options.js'
import type { Codec } from '../support/codec.js'
import { jsonCodec } from '../support/exact-json.js'
import { PACKAGE_KINDS } from '../support/package-kinds.js'
import type { CommitContext, ReadContext } from './contexts.js'
import type { EngineSettings, RemoveOld } from './engine-settings.js'
import { GRID_OPTIONS, type GridOptions, gridSettings } from './grid-options.js'

/** Options of a {@link WideCache}. */
export interface WideCacheOptions<Row, Figures = unknown> extends GridOptions {
  /**
   * Name that processes share. Rows recorded under one name are one ledger. 1 to 32 letters,
   * digits, `_`, `.`, `-`.
   */
  name: string
  /**
   * Kind of the rows. The first process of a name records it in SQL. A process that gives another
   * kind is refused with a `KindDiffersError`. A codec that cannot read the rows of the old one
   * needs another kind, and so another name. 1 to 32 letters, digits, `_`, `.`, `-`; not `activity`
   * or `hits`. @default 'rows'
   */
  kind?: string | undefined
  /** Turns rows into bytes and back. @default JSON */
  codec?: Codec<Row> | undefined
  /**
   * Writes rows to their tables, inside the transaction that enters their frames in the ledger.
   * Each row is handed over in exactly one transaction that commits. It may run again after a
   * rollback, so it must do nothing outside `tx`. An error about the rows themselves (thrown, or a
   * database error of category `data`) sends their frame to quarantine, after three tries alone.
   */
  commit(rows: Row[], tx: Transaction, context: CommitContext): Promise<void>
  /**
   * Most rows of one `commit()`, 1,000 to 100,000. A higher number is faster when many rows wait,
   * if `commit()` cuts them into statements that the database takes. @default 2000
   */
  maxCommitRows?: number | undefined
  /**
   * Reads the figures that `read()` returns (JSON). Called at most once in `readTtlSeconds` over
   * all processes. @default `read()` rejects
   */
  read?: ((database: Queryable, context: ReadContext) => Promise<Figures>) | undefined
  /** Seconds that the figures of `read` are served from the cache, 1 to 86,400. @default 2 */
  readTtlSeconds?: number | undefined
  /**
   * Removes old data. The collector calls it about once a minute, so it should take seconds only.
   * If it resolves with `true`, there is more to remove, and it is called again with the next
   * collecting run. The runs do not wait for it, unless they are more than 10 s apart.
   * @default nothing is removed
   */
  removeOld?: RemoveOld | undefined
}

/** Options complete and checked. After this there are no defaults anywhere. */
export interface Settings<Row, Figures> extends EngineSettings<Row> {
  readonly read: ((database: Queryable, context: ReadContext) => Promise<Figures>) | undefined
}

const DEFAULT_KIND = 'rows'

/** Advice for the log if no process collects. */
const START_MODULE =
  'leave out collect: false in one of its processes, or start "wide-cache collect --module" with ' +
  'a file that exports it'

/**
 * Checks `options` and fills in what is not given. @throws TypeError, RangeError
 */
export function settingsOf<Row, Figures>(
  options: WideCacheOptions<Row, Figures>,
): Settings<Row, Figures> {
  onlyKnown('WideCache', options, [
    'name',
    'kind',
    'codec',
    'commit',
    'maxCommitRows',
    'read',
    'readTtlSeconds',
    'removeOld',
    ...GRID_OPTIONS,
  ])
  const {
    name,
    kind = DEFAULT_KIND,
    codec = jsonCodec<Row>(),
    commit,
    maxCommitRows = 2_000,
    read,
    readTtlSeconds = 2,
    removeOld,
    ...grid
  } = given(options)
  if (typeof commit !== 'function') {
    throw wrongType('commit', commit, 'a function (rows, tx) that writes the rows within tx')
  }
  if (
    typeof codec !== 'object' ||
    codec === null ||
    typeof codec.encode !== 'function' ||
    typeof codec.decode !== 'function'
  ) {
    throw wrongType('codec', codec, 'an object with encode(row, target, offset) and decode(bytes)')
  }
  return Object.freeze({
    ...gridSettings(grid),
    name: identifier('name', name),
    kind: kindOf(kind),
    nameSettings: {},
    tables: [],
    codec,
    commit,
    maxCommitRows: integer('maxCommitRows', maxCommitRows, 1_000, 100_000, 'rows'),
    read: optionalFunction('read', read, 'a function (database, context)'),
    readTtlSeconds: integer('readTtlSeconds', readTtlSeconds, 1, 86_400, 'seconds'),
    removeOld: optionalFunction('removeOld', removeOld, 'a function (database, context)'),
    afterDrain: undefined,
    afterRun: undefined,
    metrics: undefined,
    collectorRemedy: START_MODULE,
  })
}

function kindOf(value: unknown): string {
  const kind = identifier('kind', value)
  if (PACKAGE_KINDS.includes(kind)) {
    throw wrongValue(
      'kind',
      kind,
      `another word: ${PACKAGE_KINDS.join(' and ')} are what createActivity() and ` +
        'createHits() record',
    )
  }
  return kind
}
