import { type Clock, sleep } from '../support/clock.js'

/** Turns of the event loop after which every connection that was cut has said so. */
const TURNS = 2

/**
 * Resolves when the middleware has seen the responses whose connections have just been cut.
 * `closeAllConnections()` makes the server's event `close` come before those of its responses,
 * which follow in the next turn.
 */
export async function lastResponses(clock: Clock): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await sleep(clock, 0)
}
