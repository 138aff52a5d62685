// Bundles server.mjs as sites do, with and without what it says to set. webpack makes those of its
// bundles that are named on the command line.
import esbuild from 'esbuild'

// Without it no bundle as an ES module has a `require` for Express.
const banner = {
  js:
    "import { createRequire } from 'node:module'; const require = " +
    'createRequire(import.meta.url);',
}
const viaEsbuild = (file, options) =>
  esbuild.build({
    entryPoints: ['server.mjs'],
    bundle: true,
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    outfile: `bundles/${file}`,
    ...options,
  })
const viaWebpack = async (filename, options) => {
  if (!process.argv.includes(filename)) return
  const { default: webpack } = await import('webpack')
  await new Promise((resolve, reject) => {
    webpack(
      {
        mode: 'development',
        devtool: false,
        target: 'node20',
        entry: './server.mjs',
        output: { path: `${process.cwd()}/bundles`, filename },
        ...options,
      },
      (error, stats) =>
        error || stats.hasErrors()
          ? reject(error ?? new Error(stats.toString('errors-only')))
          : resolve(),
    )
  })
}

await Promise.all([
  viaEsbuild('esbuild-all.mjs', { format: 'esm', banner }),
  viaEsbuild('esbuild-all.cjs', { format: 'cjs' }),
  viaEsbuild('esbuild-packages.mjs', { format: 'esm', packages: 'external' }),
  viaEsbuild('esbuild-packages.cjs', { format: 'cjs', packages: 'external' }),
  viaEsbuild('esbuild-external.mjs', {
    format: 'esm',
    banner,
    external: ['wide-cache'],
  }),
  viaEsbuild('esbuild-external.cjs', {
    format: 'cjs',
    external: ['wide-cache'],
  }),
])
await viaWebpack('webpack-all.cjs')
await viaWebpack('webpack-external.cjs', {
  externals: { 'wide-cache': 'commonjs wide-cache' },
})
