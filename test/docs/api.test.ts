/**
 * The API reference is what the docstrings say, and everything public has a text. The first run
 * installs the packages of `scripts/api/` from the npm registry.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { INTERRUPT_BUDGET } from '../../scripts/typescript/exec-argv.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { API_REFERENCE, docs } from './markdown.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const folder = temporaryFolder('api')
after(() => removeFolder(folder))

/** Runs the generator: its exit status, and what it says on stderr and stdout. */
function generate(...args: readonly string[]): Promise<{ status: number; said: string }> {
  const script = join(ROOT, 'scripts/api/main.js')
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [...INTERRUPT_BUDGET, script, ...args],
      (_error, stdout, stderr) => resolve({ status: child.exitCode ?? -1, said: stdout + stderr }),
    )
  })
}

test('docs/api is what the docstrings say, and nothing public lacks a text', async () => {
  const out = join(folder, 'api')
  assert.deepEqual(await generate(out), { status: 0, said: '' })
  const committed = docs().filter(({ file }) => file.startsWith(API_REFERENCE))
  assert.deepEqual(
    committed.map(({ file }) => file.slice(API_REFERENCE.length)),
    readdirSync(out, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .sort(),
    'run npm run api',
  )
  for (const { file, text } of committed) {
    const generated = readFileSync(join(out, file.slice(API_REFERENCE.length)), 'utf8')
    assert(text === generated, `${file} differs from the docstrings: run npm run api`)
    assert(!text.includes('__namedParameters'), file)
  }
})

/** A package whose docstrings lack something, and what is said of each. */
const FAULTY = `
export interface CardOptions {
  /** Who gets it. */
  to: string
  /** Text on it. */
  text?: string | undefined
  /** How long it lives, 1 to 60. @default 5 */
  ttlSeconds?: number | undefined
  /** How many go at once. @default 1 */
  count?: number | undefined
  /** @default 'A6' */
  size?: string | undefined
  colour: string
}
/** Sends a card, see {@link letter}. */
export function send(options: CardOptions): Stamp { return { options } }
interface Stamp { options: CardOptions }
`
const COMPLAINTS = [
  /CardOptions \(Interface\).* does not have any documentation/,
  /CardOptions\.colour \(Property\).* does not have any documentation/,
  /CardOptions\.text lacks a @default/,
  /CardOptions\.ttlSeconds lacks its unit, seconds/,
  /CardOptions\.count lacks its range/,
  /CardOptions\.size lacks a text/,
  /link to "letter"/,
  /Stamp, .*is referenced by .* but not included/,
]

test('a text, default, unit, link or type that is missing is named', async () => {
  const project = join(folder, 'cards')
  mkdirSync(join(project, 'src'), { recursive: true })
  const exported = { '.': { types: './dist/index.d.ts' }, './package.json': './package.json' }
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'cards', exports: exported }))
  writeFileSync(
    join(project, 'tsconfig.build.json'),
    JSON.stringify({ compilerOptions: { strict: true, types: [] }, include: ['src'] }),
  )
  writeFileSync(join(project, 'src/index.ts'), FAULTY)
  const { status, said } = await generate(join(folder, 'cards-api'), project)
  assert.equal(status, 1)
  for (const complaint of COMPLAINTS) assert.match(said, complaint)
  assert.doesNotMatch(said, /CardOptions\.to\b|ttlSeconds lacks its range/)
})
