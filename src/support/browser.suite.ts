/** The browser of the tests: Chromium, where it is installed. */
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type Page, chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

function installedBrowser(): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(':')
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

const executablePath = installedBrowser()

/** Why tests that need a browser are left out, or `false`. */
export const withoutBrowser = executablePath ? false : 'no Chromium is installed'

/** Starts it; `undefined` where there is none. */
export async function startBrowser(): Promise<Browser | undefined> {
  if (!executablePath) return undefined
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}

/** All that the browser complains of from now on: errors, and what a policy has blocked. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return complaints
}

/** Waits until something holds, at most 10 s. */
export async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 10_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it does not come to pass within 10 s')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
