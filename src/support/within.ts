/** Resolves when `promise` has ended, and after `ms` at the latest. */
export async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise((resolve) => (timer = setTimeout(resolve, ms)))
  await Promise.race([promise.catch(() => undefined), timeout])
  clearTimeout(timer)
}
