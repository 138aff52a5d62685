import { FIRST_HEADER } from '../frame.fixture.js'
import type { HeldFrame } from './outbox.js'

/** A frame of one row that has been closed at 0 and is in no cell. */
export function heldFrame(sequence: number, more: Partial<HeldFrame> = {}): HeldFrame {
  return {
    ...FIRST_HEADER,
    writer: '',
    sequence,
    issued: sequence,
    bytes: Buffer.alloc(10),
    openedAt: 0,
    closedAt: 0,
    layer: undefined,
    placing: undefined,
    ...more,
  }
}
