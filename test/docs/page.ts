/**
 * Blocks of HTML: a page that has them, in Chromium, on the site of the block that they continue.
 */
import type { Browser } from 'playwright-core'
import type { Block } from './blocks.js'
import { type placesOf, run } from './program.js'

const PATH = '/page-of-the-docs'
const LOAD_MS = 120_000

/** @throws Error with what the browser complains of, and if an element of its own is none */
export async function show(
  block: Block,
  where: ReturnType<typeof placesOf>[number],
  browser: Browser,
): Promise<void> {
  const site = block.continues
  if (!site) {
    throw new Error(
      'a page needs a site: <!-- continues --> before it names the block of JavaScript that ' +
        'serves it',
    )
  }
  const complaints: string[] = []
  await run(site, where, async (origin) => {
    const page = await browser.newPage()
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('response', (response) => {
      if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`)
    })
    await page.route(`${origin}${PATH}`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<!doctype html><link rel="icon" href="data:,"><body>${block.text}`,
      }),
    )
    await page.goto(origin + PATH, { waitUntil: 'networkidle', timeout: LOAD_MS })
    const undefinedElements: string[] = await page.evaluate(
      `[...document.querySelectorAll(':not(:defined)')].map(({ localName }) => localName)`,
    )
    complaints.push(...undefinedElements.map((name) => `<${name}> is not defined`))
    await page.close()
  })
  if (complaints.length > 0) throw new Error(complaints.join('\n'))
}
