/**
 * Every code block of the README, the docs and the project's other pages is checked, as printed.
 * Needs `npm run build` before.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { startBrowser } from '../servers/browser.js'
import { sharedMemcached, sharedMysqlUrl } from '../servers/shared.js'
import { type Block, blocksIn, chainOf, textOf } from './blocks.js'
import { checksOf } from './checks.js'
import { API_REFERENCE, pages } from './markdown.js'
import { run } from './program.js'
import { compile } from './types.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BLOCKS_AT_ONCE = 4

const blocks = pages().flatMap(({ file, text }) => blocksIn(file, text))

let started: Promise<Browser> | undefined
const browser = (): Promise<Browser> => (started ??= startBrowser())
before(async () => {
  assert(existsSync(join(ROOT, 'dist/index.js')), 'the package has not been built: npm run build')
  // Started here if this file runs alone.
  await Promise.all([sharedMemcached(), sharedMysqlUrl()])
})
after(async () => (await started)?.close())

test('all blocks are found: each has two fences', () => {
  for (const { file, text } of pages()) {
    const fences = text.match(/^ {0,3}```/gm)?.length ?? 0
    assert.equal(blocks.filter((block) => block.file === file).length, fences / 2, file)
  }
  assert(blocks.length > 50, `${blocks.length} blocks`)
})

/** Files and folders of the project that a text names, as `src/index.ts`. */
function pathsIn(text: string): string[] {
  return [...text.matchAll(/`((?:src|test|sql|bench|docs|examples|scripts)\/[\w./-]*)`/g)].map(
    ([, path]) => path!,
  )
}

test('the files that pages name exist', () => {
  const missing = pages().flatMap(({ file, text }) =>
    pathsIn(text)
      .filter((path) => !existsSync(join(ROOT, path)))
      .map((path) => `${file}: ${path}`),
  )
  assert.deepEqual(missing, [])
  assert.deepEqual(
    pathsIn('See `src/index.ts`, `sql/mysql/` and `sql/<dialect>/`, not src/other.ts.'),
    ['src/index.ts', 'sql/mysql/'],
  )
})

/** Blocks that name the same database take turns with it. */
const turns = new Map<string, Promise<unknown>>()

function inTurn(block: Block, work: () => Promise<void>): Promise<void> {
  const names = textOf(chainOf(block)).match(/(?<=\bm\w+:\/\/[^\s'"]+\/)\w+/g) ?? []
  const mine = Promise.allSettled(names.map((name) => turns.get(name))).then(work)
  for (const name of names) {
    turns.set(
      name,
      mine.catch(() => undefined),
    )
  }
  return mine
}

describe('blocks', { concurrency: BLOCKS_AT_ONCE }, () => {
  // A block that others of its language go on from runs before those.
  for (const block of blocks.filter(
    (one) =>
      !blocks.some(({ continues, language }) => continues === one && language === one.language),
  )) {
    for (const { title, run } of checksOf(block, browser)) {
      test(`${block.file}:${block.line} (${block.language}) ${title}`, () => inTurn(block, run))
    }
  }
})

test('all blocks of JavaScript compile under strict', () =>
  compile(
    ...blocks.filter(({ file, language }) => language === 'js' && !file.startsWith(API_REFERENCE)),
  ))

test('a fault would be seen: JavaScript that TypeScript would refuse', async () => {
  const viewer = 'createActivity({ visitor: (req) => req.ip })'
  const text = `import { createActivity } from 'wide-cache'\n${viewer}`
  const [block] = blocksIn('fault.md', `\`\`\`js\n${text}\n\`\`\``)
  await assert.rejects(compile(block!), /fault\.md-2\.mjs\(3,[^]*undefined/)
})

/** Markdown whose last block is wrong, and what is said of it. */
const FAULTS: [what: string, markdown: string, complaint: RegExp][] = [
  [
    'a language that nobody checks',
    '```python\nprint(1)\n```',
    /no test knows how to check "python"/,
  ],
  ['no language', '```\nprint(1)\n```', /no test knows how to check ""/],
  ['a block without an end', '```js\nlet a', /has no end/],
  ['a block that continues nothing', '<!-- continues -->\n```js\n```', /no block before it/],
  [
    'a name that is not there',
    '```js\n\nactivity.stats()\n```',
    /md\.mjs:3[^]*activity is not defined/,
  ],
  [
    'an export that is not there',
    '```js\nimport { createActivities } from "wide-cache"\n```',
    /createActivities/,
  ],
  [
    'an option that is not there',
    '```js\nimport { createActivity } from "wide-cache"\ncreateActivity({ widht: 3 })\n```',
    /widht/,
  ],
  ['a warning', '```js\nconsole.warn("beware")\n```', /says on stderr:\nbeware/],
  [
    'a table that is not there',
    '```js\nimport { sqlite } from "wide-cache"\nawait sqlite(":memory:").query("SELECT * ' +
      'FROM clicks")\n```',
    /no such table: clicks/,
  ],
  [
    'a site that fails',
    '```js\nimport { createServer } from "node:http"\ncreateServer((req, res) => { ' +
      'res.statusCode = 500; res.end("broken") }).listen(3000)\n```',
    /answers 500: broken/,
  ],
  [
    'a site that does not end in order',
    '```js\nimport { createServer } from "node:http"\ncreateServer((req, res) => ' +
      'res.end()).listen(3000)\nprocess.on("SIGTERM", () => process.exit(3))\n```',
    /ends with 3/,
  ],
  [
    'another server',
    '```js\nimport net from "node:net"\nnet.connect(80, "192.0.2.1")\n```',
    /connects to 192\.0\.2\.1:80/,
  ],
  [
    'a type that does not fit',
    '```ts\nimport { createHits } from "wide-cache"\n\ncreateHits({ name: 7 })\n```',
    /fault\.md-2\.mts\(4,/,
  ],
  [
    'an implicit any',
    '```ts\nexport function page(req) { return req.path }\n```',
    /implicitly has an 'any' type/,
  ],
  ['a page without a site', '```html\n<p>\n```', /a page needs a site/],
  [
    'a script that is not there',
    '```js\nimport express from "express"\nexpress().listen(3000)\n```\n<!-- continues ' +
      '-->\n```html\n<script src="/widget.js"></script>\n```',
    /widget\.js: 404/,
  ],
  [
    'an element that is not defined',
    '```js\nimport express from "express"\nexpress().listen(3000)\n```\n<!-- continues ' +
      '-->\n```html\n<site-activity></site-activity>\n```',
    /<site-activity> is not defined/,
  ],
  [
    'a column that is not there',
    '```sql\nSELECT COUNT(*) FROM activities;\nSELECT pages FROM activities\n```',
    /pages/,
  ],
  [
    'a script of npm that is not there',
    '```sh\nnpm ci && npm run benhc\n```',
    /npm run benhc": package.json has no such script/,
  ],
  ['a command that is not there', '```sh\nnpx wide-cache collects # all\n```', /no such command/],
  [
    'a flag that is not there',
    '```sh\nMEMCACHE_SERVERS=h:1 npx wide-cache collect --widht 3\n```',
    /Unknown option '--widht'/,
  ],
  [
    'a test runner that is not there',
    '```sh\nnode --import ./scripts/typescript/register.js test/rum.ts grid\n```',
    /there is no such file/,
  ],
  [
    'a command of npm that is not there',
    '```sh\nnpm pubish\n```',
    /package.json has no such script/,
  ],
  [
    'a command of git that is not there',
    '```sh\ngit psuh --follow-tags\n```',
    /git has no command "psuh"/,
  ],
  [
    'a variable that nothing reads',
    '```sh\nMEMCACHED_SERVERS=h:1 npx wide-cache collect\n```',
    /MEMCACHED_SERVERS/,
  ],
  [
    'a file that is not there',
    '```sh\nnode examples/classes/sequences.js\n```',
    /there is no such file/,
  ],
  ['a program that nobody knows', '```sh\nwidecache collect\n```', /no test knows this command/],
  ['JSON with a comma too many', '```json\n{ "a": 1, }\n```', /JSON/],
  ['a unit without a command', '```ini\n[Service]\nUser=www-data\n```', /ExecStart is missing/],
  [
    'a unit with another command',
    '```ini\n[Service]\nExecStart=/usr/bin/node node_modules/wide-cache/dist/main.js collect\n```',
    /there is no such file/,
  ],
  [
    'a shell in a container',
    '```dockerfile\nFROM node:22\nCMD node server.js\n```',
    /CMD is no list/,
  ],
]

describe('a fault would be seen:', { concurrency: BLOCKS_AT_ONCE }, () => {
  for (const [what, markdown, complaint] of FAULTS) {
    test(what, async () => {
      const checked = async (): Promise<void> => {
        for (const check of checksOf(blocksIn('fault.md', markdown).at(-1)!, browser)) {
          await check.run()
        }
      }
      await assert.rejects(checked, complaint)
    })
  }
})

test('a fault would be seen: servers that are not used', async () => {
  const [block] = blocksIn(
    'fault.md',
    '```js\nimport { sqlite } from "wide-cache"\nconst database = sqlite("./mine.db")\nawait ' +
      'database.migrate()\nawait database.close()\n```',
  )
  await assert.rejects(run(block!, 'memcached and MariaDB'), /has made mine\.db though/)
})

const SOUND: [what: string, markdown: string][] = [
  [
    'a block runs after what it continues, statements included',
    '```sql\nCREATE TABLE clicks (button VARCHAR(20))\n```\n<!-- continues ' +
      '-->\n```js\nimport { mysql, sqlite } from "wide-cache"\n```\n' +
      'Text.\n<!-- continues -->\n```js\nconst database = process.env.DATABASE_URL ? ' +
      'mysql(process.env.DATABASE_URL) : sqlite("./wide-cache.db")\n' +
      'const { rows } = await database.query("SELECT * FROM clicks")\nif (rows.length !== 0) ' +
      'throw new Error("rows")\nawait database.close()\n```',
  ],
  [
    'servers that are named are those of the tests',
    '```js\nimport { Sequence } from "wide-cache/sequence"\n' +
      'const numbers = new Sequence({ name: "n", cache: "memcached://10.0.0.5:11211", ' +
      'database: "mysql://someone:secret@10.0.0.7/named" })\n' +
      'if (await numbers.next() !== 1) throw new Error("not the first number")\nawait ' +
      'numbers.close()\n```',
  ],
]

describe('what is right holds:', { concurrency: BLOCKS_AT_ONCE }, () => {
  for (const [what, markdown] of SOUND) {
    test(what, async () => {
      for (const { run } of checksOf(blocksIn('sound.md', markdown).at(-1)!, browser)) await run()
    })
  }
})
