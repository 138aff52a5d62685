/** Takes docs/forum.png, the picture in the README: `npm run screenshot`. */
import { fileURLToPath } from 'node:url'
import { startBrowser, startForum } from './forum.js'

const FILE = fileURLToPath(new URL('../../docs/forum.png', import.meta.url))
/** How long visitors come before it is taken. */
const VISITS_MS = 60_000

const [forum, browser] = await Promise.all([startForum(), startBrowser()])
try {
  const page = await browser.newPage({
    viewport: { width: 960, height: 400 },
    deviceScaleFactor: 1.5,
    colorScheme: 'light',
  })
  await new Promise((resolve) => setTimeout(resolve, VISITS_MS))
  await page.goto(forum.origin)
  await page.locator('site-activity [part~=number]').first().waitFor()
  await page.screenshot({ path: FILE })
  console.log(`${FILE}: ${await page.locator('site-activity [part~=figures]').textContent()}`)
} finally {
  await browser.close()
  await forum.stop()
}
