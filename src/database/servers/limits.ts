/** Limits of time and number that hold for every database server. */

/** The most callers that wait for a connection. */
export const QUEUE_LIMIT = 1_000
/** Time for making a connection. */
export const CONNECT_TIMEOUT_MS = 5_000
/** Longest wait of a caller for a free connection. */
export const ACQUIRE_TIMEOUT_MS = 60_000
/**
 * Time without an answer after which the connection counts as broken. More than the lock wait, so
 * that a lock is reported as a lock.
 */
export const QUERY_TIMEOUT_MS = 60_000
/**
 * Time limit of statements that wait for nothing. They detect a connection that has gone silent.
 */
export const BEGIN_TIMEOUT_MS = 10_000
/** Time limit of a statement of a migration that may change a big table. */
export const CHANGE_TIMEOUT_MS = 3_600_000
export const LOCK_WAIT_SECONDS = 20
/**
 * Idle time after which the server ends a session, within a transaction too, and frees its locks.
 */
export const SERVER_IDLE_SECONDS = 15
/** Idle time after which the session is closed here, before the server does it. */
export const IDLE_MS = 12_000
/** Time for idle connections to be closed in order. */
export const QUIT_TIMEOUT_MS = 1_000
/** A peer that is gone is noticed by probes. Else the first one comes after two hours. */
export const KEEP_ALIVE_MS = 10_000
/** The most connections of a process, unless it says otherwise. */
export const CONNECTIONS = 5
