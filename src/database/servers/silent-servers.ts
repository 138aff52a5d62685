/**
 * Servers that do not answer, as this process knows them. While a server is silent, one connection
 * to it is tried at a time, and others wait for its outcome. An attempt keeps the process alive
 * until it times out: objects that ask by turns would never let the process end.
 */
import { isSilence } from './errors.js'

/** Addresses of servers to which the last attempt has timed out. */
const silent = new Set<string>()
/** Attempts to connect to those. Each resolves at its end, with its error if that is silence. */
const attempts = new Map<string, Promise<unknown>>()

/** Tells whether the last attempt to connect to `server` has timed out. */
export function isSilent(server: string): boolean {
  return silent.has(server)
}

/**
 * Connects to `server`, an address.
 *
 * @throws DatabaseError of this attempt, or of the one that it has waited for if that timed out
 */
export async function connectTo<T>(server: string, connect: () => Promise<T>): Promise<T> {
  for (let other = attempts.get(server); other; other = attempts.get(server)) {
    const silence = await other
    if (silence !== undefined) throw silence
  }
  const attempt = connect()
  const outcome = attempt.then(
    () => undefined,
    (error: unknown) => (isSilence(error) ? error : undefined),
  )
  if (silent.has(server)) attempts.set(server, outcome)
  const silence = await outcome
  if (attempts.get(server) === outcome) attempts.delete(server)
  if (silence === undefined) silent.delete(server)
  else silent.add(server)
  return attempt
}
