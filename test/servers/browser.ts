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

function start(program: Program, { args = [], ...options }: LaunchOptions): Promise<Browser> {
  return chromium.launch({
    ...options,
    executablePath: binary(program),
    args: [...QUIET, ...args],
  })
}
