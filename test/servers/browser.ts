/** The browser of the tests. */
import { type Browser, chromium, type LaunchOptions } from 'playwright-core'
import { binary } from './binaries.js'

/** Chromium without traffic of its own, and without what it cannot have on a server. */
export const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

/** Starts Chromium, also with other arguments. @throws Error that says what to install */
export function startBrowser({ args = [], ...options }: LaunchOptions = {}): Promise<Browser> {
  return chromium.launch({
    ...options,
    executablePath: binary('chromium'),
    args: [...QUIET, ...args],
  })
}
