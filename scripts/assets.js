// Writes the page of the dashboard to dist/, or to another folder: one script and one style sheet.
// What the first view does not need is in files that are loaded when it is needed. They take what
// they share with the first script from there. Terser takes 3 % from what esbuild has minified.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { minify } from 'terser'

const folder = (root) => fileURLToPath(new URL(`../${root}/dashboard/assets`, import.meta.url))
const [from, to] = [folder('src'), process.argv[2] ?? folder('dist')]
const read = (file) => readFileSync(`${from}/${file}`, 'utf8')

const LATER = [
  'alarm.js',
  'days.js',
  'empty.js',
  'item.js',
  'operation.js',
  'table.js',
  'times.js',
  'tip.js',
]
/** Modules that are in those files alone. */
const OF_LATER = [...LATER, 'grid.js', 'ledger.js']
const IMPORT = /^import \{([^}]+)\} from '\.\/([\w-]+\.js)'/gm
const imports = OF_LATER.flatMap((file) => [...read(file).matchAll(IMPORT)])
const shared = new Map()
for (const [, names, module] of imports) {
  if (OF_LATER.includes(module)) continue
  const known = shared.get(module) ?? new Set()
  shared.set(module, known)
  for (const name of names.split(',')) if (name.trim()) known.add(name.trim())
}

const options = {
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  // package.json says that no module of the package does anything when it is loaded.
  ignoreAnnotations: true,
  logLevel: 'warning',
}
await write({
  ...options,
  stdin: {
    contents: ["import './dashboard.js'"]
      .concat(Array.from(shared, ([of, names]) => `export { ${[...names]} } from './${of}'`))
      .join('\n'),
    resolveDir: from,
  },
  outfile: `${to}/dashboard.js`,
  external: LATER.map((file) => `./${file}`),
})
await write({
  ...options,
  entryPoints: ['dashboard.css', 'later.css', ...LATER].map((file) => `${from}/${file}`),
  outdir: to,
  plugins: [
    {
      name: 'shared',
      setup: ({ onResolve }) =>
        onResolve({ filter: /^\.\/[\w-]+\.js$/ }, ({ path }) =>
          shared.has(path.slice(2)) ? { path: './dashboard.js', external: true } : undefined,
        ),
    },
  ],
})
// The page of several sites stands alone.
await write({ ...options, entryPoints: [`${from}/overview.js`], outdir: to })
for (const file of readdirSync(from).filter((one) => /\.(?:html|svg)$/.test(one))) {
  // No text of the page has indentation but code, which is in no line that begins with a tag.
  writeFileSync(`${to}/${file}`, read(file).replace(/^\s+(?=<)/gm, ''))
}

async function write(of) {
  const { outputFiles } = await build({ ...of, write: false })
  for (const { path, text } of outputFiles) {
    // No function of the page is a constructor.
    const compress = { passes: 3, unsafe_arrows: true }
    const isScript = path.endsWith('.js')
    const { code } = isScript ? await minify(text, { module: true, compress }) : { code: text }
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, code)
  }
}
