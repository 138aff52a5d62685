// Writes the page of the dashboard to dist/: one script, another one for the operation, which is
// loaded when it is opened, and one style sheet.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const [from, to] = ['src', 'dist'].map((root) =>
  fileURLToPath(new URL(`../${root}/dashboard/assets`, import.meta.url)),
)

await build({
  entryPoints: ['dashboard.js', 'operation.js', 'dashboard.css', 'operation.css'].map(
    (file) => `${from}/${file}`,
  ),
  outdir: to,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  external: ['./operation.js'],
  legalComments: 'none',
  logLevel: 'warning',
})
for (const file of readdirSync(from).filter((one) => /\.(?:html|svg)$/.test(one))) {
  // No text of the page has indentation but code, which is in no line that begins with a tag.
  const text = readFileSync(`${from}/${file}`, 'utf8').replace(/^\s+(?=<)/gm, '')
  writeFileSync(`${to}/${file}`, text)
}
