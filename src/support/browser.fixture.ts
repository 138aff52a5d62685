import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

/** All that the browser complains of from now on: errors, and what a policy has blocked. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return complaints
}

/** Nothing in the page waits for a time any more: what comes then was asked for at once. */
export async function stopWaiting(page: Page): Promise<void> {
  await page.evaluate(`{
    const { setTimeout } = window
    window.setTimeout = (work, ms = 0) => (ms > 0 ? 0 : setTimeout(work, 0))
  }`)
}

/** The axe-core script, which every page gets that is looked at. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * What is hard to use for some people, by axe-core: rules, and where the page breaks them.
 *
 * @param only rules; all by default
 */
export async function violationsOf(page: Page, only?: readonly string[]): Promise<string[]> {
  // Nothing is returned: Playwright would look through all of axe.
  if (!(await page.evaluate('Boolean(window.axe)'))) await page.evaluate(`(() => { ${AXE} })()`)
  const options = { resultTypes: ['violations'], ...(only && { runOnly: only }) }
  return (await page.evaluate(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target }) => target).join(' ')))`,
  )) as string[]
}
