/** Registers a test under a name: `test` of `node:test`, Vitest, Jest and others. */
export type RegisterTest = (name: string, body: () => Promise<void>) => unknown
