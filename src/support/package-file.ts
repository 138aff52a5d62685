/**
 * The files that the package reads at run time: the schema, the SQLite thread, the widget. They are
 * beside its modules. A bundle has the modules without the files, so it is refused when it starts,
 * and not when the first visit is committed.
 */
import { existsSync } from 'node:fs'

// Bundles as CommonJS have no `import.meta`. A variable, because webpack makes
// `new URL('…', import.meta.url)` an asset of its own.
const HERE: string | undefined = import.meta.url

const BUNDLED =
  'wide-cache: this program is a bundle that contains wide-cache without the files it ' +
  'reads at run time (SQL schema, SQLite thread, widget). ' +
  'Leave wide-cache out of the bundle and install it beside it: esbuild: packages: ' +
  "'external' (--packages=external), or external: ['wide-cache']; " +
  "webpack: externals: { 'wide-cache': 'commonjs wide-cache' }, and a line for each other " +
  "entry that you import, such as 'wide-cache/counters'; " +
  'Rollup: external: [/^wide-cache/]'

if (HERE === undefined || !existsSync(new URL('../database/sqlite/worker.js', HERE))) {
  throw Object.assign(new Error(BUNDLED), { code: 'ERR_WIDE_CACHE_BUNDLED' })
}

/** The URL of a file of the package; `path` starts at `src/`, or at `dist/`. */
export function packageFile(path: string): URL {
  return new URL(`../${path}`, HERE)
}
