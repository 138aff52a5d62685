/** Module hooks for TypeScript, in a thread of their own: see register.js. */
import { javascriptOf, typescriptFile } from './source.js'

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, next) {
  const url = typescriptFile(specifier, context.parentURL)
  return url ? { url, format: 'module', shortCircuit: true } : next(specifier, context)
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  const source = javascriptOf(url)
  return source ? { source, format: 'module', shortCircuit: true } : next(url, context)
}
