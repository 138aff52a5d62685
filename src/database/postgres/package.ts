/** Loads the optional package `pg`. */
import nodeModule from 'node:module'

/** The oldest that sends each statement by itself, whether it has values or not. */
const LEAST = [8, 12] as const

let loaded: typeof import('pg') | undefined

/** @throws Error if the package is not installed, or is too old */
export function loadPackage(): typeof import('pg') {
  if (loaded) return loaded
  const require = nodeModule.createRequire(import.meta.url)
  let version: string
  try {
    loaded = require('pg') as typeof import('pg')
    version = String((require('pg/package.json') as { version?: unknown }).version)
  } catch (cause) {
    throw packageMissing('which is not installed', cause)
  }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) return loaded
  loaded = undefined
  throw packageMissing(`of version ${LEAST.join('.')} or later; ${version} is installed`)
}

function packageMissing(what: string, cause?: unknown): Error {
  const message =
    `wide-cache: a database of postgres:// needs the package "pg", ${what}; ` +
    'run: npm install pg'
  return Object.assign(new Error(message, { cause }), { code: 'ERR_WIDE_CACHE_POSTGRES' })
}
