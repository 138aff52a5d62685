/** The browser of the tests. */
import { type Browser, chromium } from 'playwright-core'
import { binary } from './binaries.js'

/** Starts Chromium without its own traffic. @throws Error that says what to install */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: binary('chromium'),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  })
}
