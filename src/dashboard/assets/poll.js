/** Asks again and again while somebody looks, and ever less often while nothing comes back. */
import { unpacked } from './packed.js'

const TIMEOUT_MS = 15_000
/** After a failure it waits twice this, then four times, and so on. */
const RETRY_MS = 5_000
/** After an answer with old figures it waits this, then twice as long, and so on. */
const OLD_MS = 2_000
const LONGEST_MS = 60_000
const MOST_DOUBLINGS = 10
/** So that the tabs of a team do not ask all at once. */
const JITTER = 0.2

/** Says that nobody is signed in, or somebody who may not see the figures. */
const SIGNED_OUT = [401, 403]

/** The answer was an error, or leads elsewhere: to a login page. */
export class AnswerError extends Error {
  /** @param {Response} response */
  constructor({ status, type }) {
    super(`The server answered ${status}`)
    this.isSignedOut = type === 'opaqueredirect' || SIGNED_OUT.includes(status)
  }
}

/**
 * The JSON behind a URL.
 *
 * @param {string} url
 * @returns {Promise<any>}
 */
export async function json(url) {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { accept: 'application/json' },
    // Followed, a redirect would end in the HTML of a login page, or at the page's policy.
    redirect: 'manual',
  })
  if (!response.ok) throw new AnswerError(response)
  return JSON.parse(await response.text(), unpacked)
}

/**
 * Calls `load` about every `periodMs` while the tab is visible, and at once when it becomes visible
 * or comes back online after a pause. After each failure it waits twice as long.
 *
 * @param {number} periodMs
 * @param {() => Promise<boolean | void>} load `false`: what came is old
 * @param {(error: unknown) => void} [onFailure]
 * @returns {{ again: () => void }} `again` loads now
 */
export function poll(periodMs, load, onFailure = () => undefined) {
  let failures = 0
  let old = 0
  let loadedAt = -Infinity
  let running = false
  let anew = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer

  function plan() {
    clearTimeout(timer)
    if (document.hidden || running) return
    const wait = waitMs() * (1 - JITTER + 2 * JITTER * Math.random())
    timer = setTimeout(run, Math.max(0, loadedAt + wait - performance.now()))
  }

  function waitMs() {
    if (failures === 0) {
      return old === 0
        ? periodMs
        : Math.min(periodMs, OLD_MS * 2 ** Math.min(old - 1, MOST_DOUBLINGS))
    }
    const wait = Math.min(periodMs, RETRY_MS) * 2 ** Math.min(failures, MOST_DOUBLINGS)
    return Math.min(wait, Math.max(periodMs, LONGEST_MS))
  }

  async function run() {
    clearTimeout(timer)
    if (running) {
      anew = true
      return
    }
    running = true
    loadedAt = performance.now()
    try {
      const isNew = (await load()) ?? true
      old = isNew ? 0 : old + 1
      failures = 0
    } catch (error) {
      failures++
      onFailure(error)
    }
    running = false
    if (anew) loadedAt = -Infinity
    anew = false
    plan()
  }

  document.addEventListener('visibilitychange', plan)
  window.addEventListener('online', () => {
    failures = 0
    loadedAt = -Infinity
    plan()
  })
  plan()
  return { again: () => void run() }
}
