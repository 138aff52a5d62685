/**
 * docs/errors.md has every code and every class of error of the package, each with its cause and
 * what to do; and none that is not there.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { pageOf, withoutBlocks } from './markdown.js'
import { isSource } from '../sources.js'
import { CATEGORIES, DATABASES, render } from './said.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Patterns of the places where a source names a code: as the first argument of an error, of its own
 * class, as the value of `code`, or as a key of a table of remedies.
 */
const PLACES = [
  /Error\(\s*'([A-Z][A-Z\d_]+)'/g,
  /'((?:CACHE|DATABASE|SEQUENCE|COUNTER|ERR_WIDE_CACHE)_[A-Z_]+)'/g,
  /\b(?:code|CODE|SILENCE)\b[^'\n=:]*[=:] '([A-Z][A-Z\d_]+)'/g,
  /^ {2,4}((?:E|ER_|PROTOCOL_|HANDSHAKE_)[A-Z_]+):\s/gm,
  /\? '(SQLITE_[A-Z]+)'|: '(SQLITE_[A-Z]+)'/g,
  /'(ER_[A-Z_]+)'/g,
  // SQLSTATEs with a remedy.
  /^ {2,4}'([\dA-Z]{5})':/gm,
]
/** Environment variables look the same. */
const NO_CODES = ['DATABASE_URL']

function codesIn(source: string): string[] {
  const found = PLACES.flatMap((place) =>
    [...source.matchAll(place)].map(([, one, other]) => one ?? other!),
  )
  return [...new Set(found)].filter((code) => !NO_CODES.includes(code))
}

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
  isSource,
)
const codes = new Set(
  sources.flatMap((file) => codesIn(readFileSync(join(ROOT, 'src', file), 'utf8'))),
)

/** The names of errors of MySQL by their numbers, as the driver has them. */
const SERVER_ERRORS = createRequire(import.meta.url)(
  join(ROOT, 'node_modules/mysql2/lib/constants/errors.js'),
) as { readonly [number: number]: string | undefined }

/** Codes of two parts of the driver that the package does not use: clusters, and a time limit. */
const UNUSED_BY_DRIVER = ['POOL_NOEXIST', 'POOL_NONEONLINE', 'PROTOCOL_SEQUENCE_TIMEOUT']

/** The primary result codes of SQLite that are errors, from https://sqlite.org/rescode.html */
const SQLITE_ERRORS =
  'ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL ' +
  'CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB'

/** Codes that servers, the driver and SQLite make, and the package passes on. */
const passedOn = [...DATABASES.values()].flat().flatMap((row) => row.codes)

function codesOfDriver(): string[] {
  const folder = join(ROOT, 'node_modules/mysql2/lib')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const found = files
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => [
      ...readFileSync(join(folder, file), 'utf8').matchAll(/\bcode = '([A-Z_]+)'/g),
    ])
  return found.map(([, code = '']) => code).filter((code) => !UNUSED_BY_DRIVER.includes(code))
}

const { text } = pageOf('docs/errors.md')
const page = withoutBlocks(text)
/** The cells of the tables whose rows begin with one code or several. */
const rows = [
  ...page.matchAll(/^\| (`[A-Z\d][A-Z\d_]+`(?:, `[A-Z\d][A-Z\d_]+`)*) \|(.*)\|$/gm),
].flatMap(([, codes = '', cells = '']) =>
  codes.split(', ').map((code) => ({
    code: code.slice(1, -1),
    cells: cells.split(' | ').map((cell) => cell.trim()),
  })),
)

test('the page has what the tables of the code say: npm run errors', () => {
  assert.equal(render(text), text)
  for (const code of passedOn) assert(text.includes(`\`${code}\``), code)
})

test('a difference, and a page without the table, would be seen', () => {
  for (const [is, planted] of [
    ['`ER_DUP_ENTRY`', '`ER_DUP_ENTRIES`'],
    ['SQLite | capacity', 'SQLite | usage'],
  ] as const) {
    assert(text.includes(is), is)
    assert.notEqual(render(text.replace(is, planted)), text.replace(is, planted), is)
  }
  assert.throws(() => render('# Errors\n<!-- said -->\n'), /no place/)
})

test('a name of an error of MySQL is that of the driver', () => {
  const names = new Set(Object.values(SERVER_ERRORS))
  const ours = DATABASES.get('MySQL, MariaDB')!.flatMap((row) =>
    row.codes.filter((code) => code.startsWith('ER_')),
  )
  assert.deepEqual(
    ours.filter((code) => !names.has(code) && !/^ER_\d+$/.test(code)).toSorted(),
    ['ER_CONSTRAINT_FAILED', 'ER_USER_IS_BLOCKED'],
    'those of MariaDB alone',
  )
})

test('every code that the package makes has one row, and no row is of another', () => {
  const made = [...codes].filter((code) => !passedOn.includes(code))
  assert(made.length > 30, made.join(' '))
  assert.deepEqual(rows.map(({ code }) => code).sort(), made.sort())
})

test('the table has each code of the driver and of SQLite, once', () => {
  const known = [...codesOfDriver(), ...SQLITE_ERRORS.split(' ').map((name) => `SQLITE_${name}`)]
  assert(known.length > 30, known.join(' '))
  assert.deepEqual(
    known.filter((code) => !passedOn.includes(code)),
    [],
  )
  assert.equal(new Set(passedOn).size, passedOn.length)
})

test('every category tells what to do about a code without a row', () => {
  const categories = [...page.matchAll(/^\| `([a-z]+)` \|(.*)\|$/gm)].map(
    ([, category = '', cells = '']) => [category, cells.split(' | ').filter((one) => one.trim())],
  )
  assert.deepEqual(
    new Map(categories.map(([category, cells]) => [category, cells?.length])),
    new Map(CATEGORIES.map((category) => [category, 3])),
  )
})

test('every row has a cause and a remedy', () => {
  for (const { code, cells } of rows) {
    assert(cells.length >= 2 && cells.every((cell) => cell !== ''), code)
  }
})

test('a code that is not documented would be seen, wherever a source says it', () => {
  assert.deepEqual(
    codesIn(
      "throw new DatabaseError('DATABASE_ONE', 'usage', message)\nconst code = 'CACHE_TWO'\n " +
        " readonly code = 'THREE'\n  EFOUR: 'nothing listens there'\n  ESIX:\n    'long'\n" +
        "Object.assign(error, { code: 'FIVE_A' })\nconst own = variable(env, 'DATABASE_URL')\n" +
        "  '28P01': 'check the password',\n",
    ).sort(),
    ['28P01', 'CACHE_TWO', 'DATABASE_ONE', 'EFOUR', 'ESIX', 'FIVE_A', 'THREE'],
  )
})

describe('classes', () => {
  const classes = new Map<string, string>()
  before(async () => {
    const { exports: entries } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      exports: { [entry: string]: string | { default: string } }
    }
    const modules = Object.values(entries)
      .map((entry) => (typeof entry === 'string' ? entry : entry.default))
      .filter((file) => file.endsWith('.js'))
    for (const file of modules) {
      const source = join(ROOT, file.replace('dist/', 'src/').replace(/\.js$/, '.ts'))
      const exported = (await import(pathToFileURL(source).href)) as {
        readonly [name: string]: unknown
      }
      for (const [name, value] of Object.entries(exported)) {
        if (typeof value === 'function' && value.prototype instanceof Error) {
          classes.set(name, source)
        }
      }
    }
  })

  test('every public class is named as one', () => {
    assert(classes.size >= 5)
    assert.deepEqual(
      [...classes.keys()].filter(
        (name) => !new RegExp(`^## ${name}$|\\| \`${name}\``, 'm').test(page),
      ),
      [],
    )
  })
})
