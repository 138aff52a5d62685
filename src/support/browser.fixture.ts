/** Helpers of the tests in a browser. */
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

/** Waits until something holds, at most 10 s. */
export async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 10_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it does not come to pass within 10 s')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
