/**
 * A wall clock that can be stepped. Import this before all else: it takes the place of `Date`, so
 * that whatever asks for the time, cron schedules too, gets the stepped one. Timers and
 * `performance.now()` are not touched.
 */
const RealDate = Date
let offsetMs = 0

class SteppingDate extends RealDate {
  constructor(...args: unknown[]) {
    if (args.length === 0) super(RealDate.now() + offsetMs)
    else super(...(args as [number]))
  }

  static override now(): number {
    return RealDate.now() + offsetMs
  }
}

globalThis.Date = SteppingDate as DateConstructor

/** From now on the clock is wrong by `ms` milliseconds. 0: it is right. */
export function stepClock(ms: number): void {
  offsetMs = ms
}
