/** A browser that nothing drives: some of what browsers do, they do only then. */
import { spawn } from 'node:child_process'
import { binary } from './binaries.js'
import { QUIET } from './browser.js'
import { removeFolder, temporaryFolder } from './process.js'

/**
 * Opens `address` in Chromium while `use` runs. A browser with DevTools attached, as playwright
 * attaches them, prerenders nothing.
 */
export async function inPlainBrowser(
  address: string,
  args: readonly string[],
  use: () => Promise<void>,
): Promise<void> {
  const profile = temporaryFolder('browser')
  const browser = spawn(
    binary('chromium'),
    ['--headless', ...QUIET, `--user-data-dir=${profile}`, ...args, address],
    // A group of its own, which ends with all its processes.
    { detached: true, stdio: 'ignore' },
  )
  const ended = new Promise((resolve) => browser.once('close', resolve))
  const end = () => {
    if (browser.pid !== undefined) process.kill(-browser.pid, 'SIGKILL')
  }
  process.once('exit', end)
  try {
    await use()
  } finally {
    process.off('exit', end)
    end()
    await ended
    removeFolder(profile)
  }
}
