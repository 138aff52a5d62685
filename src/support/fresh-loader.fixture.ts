/** Functions that load an optional package, as in processes that have another one, or none. */
import nodeModule from 'node:module'
import type { TestContext } from 'node:test'

let modules = 0

/**
 * `loadPackage` of one more module of `file`, since each loads its package once.
 *
 * @param find what `require` returns there, or throws
 */
export async function freshLoader(
  t: TestContext,
  file: URL,
  find: (name: string) => unknown,
): Promise<() => unknown> {
  t.mock.method(nodeModule, 'createRequire', () => find)
  const { loadPackage } = (await import(`${file.href}?${++modules}`)) as {
    loadPackage: () => unknown
  }
  return loadPackage
}
