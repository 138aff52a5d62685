import type { FrameHeader } from './frame.js'

/** Header of the first frame of a writer, with one row, for tests to change what they are about. */
export const FIRST_HEADER: Omit<FrameHeader, 'writer'> = {
  sequence: 0,
  issued: 0,
  floor: 0,
  floorIssued: 0,
  floorAt: 0,
  dropped: 0,
  rowCount: 1,
  measure: 0,
}
