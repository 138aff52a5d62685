import type { LayersRead } from './cell-reader.js'

/** Result of one drain. Counts are rows unless they say otherwise. */
export interface DrainReport {
  /** Layers the watermark has risen by. */
  layers: number
  /** Cells that held something. */
  cells: number
  /** Frames that the cells held. */
  frames: number
  /** Rows that are in SQL now, by this drain. */
  committed: number
  /** Rows that came again and had been settled before. */
  duplicate: number
  /** Rows that SQL refuses, and that are kept in `wide_cache_quarantine`. */
  quarantined: number
  /** Cells whose server is silent and is waited for. */
  unanswered: number
  /** The newest drained layer, after this. */
  watermark: number
}

/** Returns the report of a drain that has done nothing. */
export function newReport(): DrainReport {
  return {
    layers: 0,
    cells: 0,
    frames: 0,
    committed: 0,
    duplicate: 0,
    quarantined: 0,
    unanswered: 0,
    watermark: 0,
  }
}

/** Counts what cells held. */
export function countRead({ keys, frames, unanswered }: LayersRead, report: DrainReport): void {
  report.cells += keys.length
  report.frames += frames.length
  report.unanswered += unanswered
}
