/**
 * Runs `work`, which is not asynchronous, with another `NODE_ENV`. Tests that run at the same time
 * in this process do not see it.
 */
export function withNodeEnv<T>(value: string, work: () => T): T {
  const before = process.env['NODE_ENV']
  process.env['NODE_ENV'] = value
  try {
    return work()
  } finally {
    if (before === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = before
  }
}
