/**
 * Lets Node run the TypeScript of this project: `node --import ./scripts/typescript/register.js`.
 *
 * Node 20 calls module hooks in a thread of their own. That takes half of the time in which a
 * process of the tests starts. With `--expose-internals` they are called in the importing thread.
 */
import { createRequire, register } from 'node:module'
import { javascriptOf, typescriptFile } from './source.js'

if (process.execArgv.includes('--expose-internals') && process.version.startsWith('v20.')) {
  hookLoader()
} else {
  register('./hooks.js', import.meta.url)
}

/** Does what Node does by `register()`, without a thread. */
function hookLoader() {
  const require = createRequire(import.meta.url)
  const { getOrInitializeCascadedLoader } = require('internal/modules/esm/loader')
  const { defaultLoad, defaultLoadSync } = require('internal/modules/esm/load')
  const { initializeImportMeta } = require('internal/modules/esm/initialize_import_meta')
  const loader = getOrInitializeCascadedLoader()
  const resolve = (specifier, parentURL, attributes) => {
    const url = typescriptFile(specifier, parentURL)
    return url ? { url, format: 'module' } : loader.defaultResolve(specifier, parentURL, attributes)
  }
  const load = (url, byDefault) => {
    const source = javascriptOf(url)
    return source ? { source, format: 'module', responseURL: url } : byDefault()
  }
  loader.setCustomizations({
    allowImportMetaResolve: true,
    resolve,
    resolveSync: resolve,
    load: (url, context) => load(url, () => defaultLoad(url, context)),
    loadSync: (url, context) => load(url, () => defaultLoadSync(url, context)),
    importMetaInitialize: initializeImportMeta,
    forceLoadHooks() {},
  })
}
