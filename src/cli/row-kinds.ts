/** How commands show and commit the rows of frames in quarantine, by their kinds. */
import { commitVisits } from '../activity/commit.js'
import { type Visit, visitCodec } from '../activity/visit.js'
import { unlocked } from '../connections/unlocked.js'
import type { Database } from '../database/database.js'
import { countingMap, hitsCommit } from '../hits/counting.js'
import { type Hit, hitCodec } from '../hits/hit.js'
import { GRID_NAME_START } from '../hits/options.js'
import type { Codec } from '../support/codec.js'
import { systemEnvironment } from '../support/environment.js'
import type { Logger } from '../support/logger.js'
import { readNameSettings } from '../wide-cache/ledger/name-settings.js'
import {
  type QuarantinedFrame,
  retryFrame,
  type RowKind,
  rowsInFrame,
} from '../wide-cache/ledger/quarantined-frames.js'

/** Bytes shown of a row whose kind no command knows. */
const MAX_ROW_BYTES = 200

/** The kind of the rows of a frame. */
export interface FrameKind {
  /** Empty: none is recorded for the name. */
  readonly kind: string
  /** Returns the rows as texts that may be shown. @throws RowsError */
  readonly textsIn: (bytes: Buffer) => string[]
  /**
   * Commits the rows, as {@link retryFrame} does. `undefined`: only the processes of the name can.
   */
  readonly retry: (() => Promise<number | undefined>) | undefined
}

/** Returns the kind of a frame, by what is recorded for its name. */
export async function kindOfFrame(
  database: Database,
  frame: QuarantinedFrame,
  logger: Logger,
): Promise<FrameKind> {
  const { name: gridName } = frame
  const kind = (await readNameSettings(database, gridName))?.kind ?? ''
  const known = <Row>(rows: RowKind<Row>, shown: (row: Row) => object): FrameKind => ({
    kind,
    textsIn: (bytes) => rowsInFrame(frame, bytes, rows).map((row) => JSON.stringify(shown(row))),
    retry: () => unlocked(systemEnvironment, () => retryFrame(database, frame, rows)),
  })
  if (kind === 'activity') {
    return known({ kind, codec: visitCodec, commit: commitVisits }, shownVisit)
  }
  if (kind === 'hits' && gridName.startsWith(GRID_NAME_START)) {
    const name = gridName.slice(GRID_NAME_START.length)
    const { map } = countingMap(database, { name, gridName, logger }, systemEnvironment)
    const commit = hitsCommit({ name, gridName, repeatSeconds: 0 }, () => map)
    return known({ kind, codec: hitCodec, commit }, shownHit)
  }
  const textsIn = (bytes: Buffer): string[] => rowsInFrame(frame, bytes, { kind, codec: AS_TEXT })
  return { kind, textsIn, retry: undefined }
}

const AS_TEXT: Codec<string> = {
  encode: () => -1,
  decode: (row) => row.toString('utf8', 0, MAX_ROW_BYTES),
}

/** Leaves out the hash of the visitor. */
function shownVisit({ time, page, dimensions, visitor }: Visit): object {
  return {
    time: new Date(time).toISOString(),
    page,
    dimensions: dimensions ?? [],
    visitor: visitor ? 'known' : 'unknown',
  }
}

/** Leaves out the hash of the viewer. */
function shownHit({ time, item, viewer }: Hit): object {
  return { time: new Date(time).toISOString(), item, viewer: viewer ? 'known' : 'unknown' }
}
