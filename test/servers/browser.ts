/** The browser of the tests. */
import { type Browser, chromium, type LaunchOptions } from 'playwright-core'
import { binary, type Program } from './binaries.js'

/** Chromium without traffic of its own, and without what it cannot have on a server. */
export const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

/**
 * Far west of UTC, where each UTC day begins on the day before. 25 hours behind the tests'
 * processes, so that no time of day is the same.
 */
export const BROWSER_TIME_ZONE = 'Etc/GMT+12'

/**
 * With digits and an order of words of another script. A test that compares texts names its
 * language, never its time zone. Without animations: as long as one runs, also where it cannot be
 * seen, Chromium computes 60 frames a second.
 */
const ELSEWHERE = {
  locale: 'ar-EG',
  timezoneId: BROWSER_TIME_ZONE,
  reducedMotion: 'reduce',
} as const

/**
 * Starts Chromium without windows, also with other arguments.
 *
 * @throws Error that says what to install
 */
export function startBrowser(options: LaunchOptions = {}): Promise<Browser> {
  return start('chromiumShell', options)
}

/**
 * Starts the whole of Chromium, whose windows have tabs that hide each other.
 *
 * @throws Error that says what to install
 */
export function startWholeBrowser(options: LaunchOptions = {}): Promise<Browser> {
  return start('chromium', options)
}

async function start(program: Program, { args = [], ...options }: LaunchOptions): Promise<Browser> {
  const browser = await chromium.launch({
    ...options,
    executablePath: binary(program),
    args: [...QUIET, ...args],
  })
  const newContext = browser.newContext.bind(browser)
  browser.newContext = (settings) => newContext({ ...ELSEWHERE, ...settings })
  return browser
}
