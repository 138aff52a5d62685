/** Shows and commits the rows of frames in quarantine, by their kinds, for commands. */
import { commitVisits } from '../activity/commit.js'
import { packedPairs, unpackPair } from '../activity/packed-dimensions.js'
import { type Visit, visitCodec } from '../activity/visit.js'
import type { Database } from '../database/database.js'
import { hitsCommit } from '../hits/commit.js'
import { type Hit, hitCodec } from '../hits/hit.js'
import { GRID_NAME_START } from '../hits/options.js'
import type { Codec } from '../support/codec.js'
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
  /** Returns the rows as they may be shown: objects, or texts. @throws RowsError */
  readonly rowsIn: (bytes: Buffer) => (object | string)[]
  /**
   * Commits the rows, as {@link retryFrame} does. `undefined`: only the processes of the name can.
   */
  readonly retry: (() => Promise<number | undefined>) | undefined
}

/** Returns the kind of a frame, by what is recorded for its name. */
export async function kindOfFrame(database: Database, frame: QuarantinedFrame): Promise<FrameKind> {
  const { name: gridName } = frame
  const kind = (await readNameSettings(database, gridName))?.kind ?? ''
  const known = <Row>(rows: RowKind<Row>, shown: (row: Row) => object): FrameKind => ({
    kind,
    rowsIn: (bytes) => rowsInFrame(frame, bytes, rows).map(shown),
    retry: () => retryFrame(database, frame, rows),
  })
  if (kind === 'activity') {
    return known({ kind, codec: visitCodec, commit: commitVisits }, shownVisit)
  }
  if (kind === 'hits' && gridName.startsWith(GRID_NAME_START)) {
    const name = gridName.slice(GRID_NAME_START.length)
    const commit = hitsCommit({ name, gridName, repeatSeconds: 0 })
    return known({ kind, codec: hitCodec, commit }, shownHit)
  }
  const rowsIn = (bytes: Buffer) => rowsInFrame(frame, bytes, { kind, codec: OF_ANY_KIND })
  return { kind, rowsIn, retry: undefined }
}

const OF_ANY_KIND: Codec<object | string> = {
  encode: () => -1,
  decode: (row) => {
    const text = row.toString('utf8', 0, MAX_ROW_BYTES)
    try {
      // As the default codec of a WideCache writes most rows.
      const value: unknown = JSON.parse(text)
      return typeof value === 'object' && value !== null ? value : text
    } catch {
      return text
    }
  },
}

/** Leaves out the hash of the visitor. */
function shownVisit({ time, page, dimensions, visitor }: Visit): object {
  return {
    time: new Date(time).toISOString(),
    page,
    dimensions: Object.fromEntries(packedPairs(dimensions ?? '').map(unpackPair)),
    visitor: visitor ? 'known' : 'unknown',
  }
}

/** Leaves out the hash of the viewer. */
function shownHit({ time, item, viewer }: Hit): object {
  return { time: new Date(time).toISOString(), item, viewer: viewer ? 'known' : 'unknown' }
}
