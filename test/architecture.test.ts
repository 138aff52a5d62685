/**
 * The structure of docs/contributing/architecture.md, held by its sources: what may import what,
 * and where time and chance come from.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isSource } from './sources.js'

const SRC = fileURLToPath(new URL('../src', import.meta.url))

/** Layers of folders or files, from the top down. */
type Structure = readonly (readonly string[])[]

/** Imports point down only. Folders of one layer do not import each other. */
const FOLDERS: Structure = [
  ['index', 'cli', 'testing'],
  ['activity', 'hits', 'counters', 'sequence', 'collision-free-map', 'export-queue'],
  ['dashboard'],
  ['page-views'],
  ['wide-cache'],
  ['buckets'],
  ['visitors', 'connections'],
  ['metrics'],
  ['cache', 'database'],
  ['support'],
]

/** The same within two folders. A file of a layer may import others of that layer. */
const INSIDE: Readonly<Record<string, Structure>> = {
  'wide-cache': [
    ['index'],
    ['wide-cache', 'options'],
    ['commands', 'engine-recorder', 'recorder'],
    ['engines'],
    ['engine', 'engine-parts', 'engine-settings'],
    ['operations'],
    ['collector', 'writer'],
    ['cached-reads', 'completeness', 'drain-hint', 'entering', 'live', 'published-watermark'],
    ['complete', 'joining', 'used-grids'],
    ['ledger'],
    [
      'cached-read',
      'clock-watch',
      'contexts',
      'frame',
      'grid',
      'grid-keys',
      'grid-options',
      'layers',
    ],
  ],
  activity: [
    [
      'overview',
      'site-activity',
      'activity-figures',
      'activity',
      'measure-collector',
      'engine-settings',
      'router',
      'seen-route',
      'middleware',
    ],
    ['visit-retention', 'lenient-path'],
    [
      'commit',
      'folding',
      'history',
      'value-history',
      'activity-history',
      'activity-top',
      'hour-recount',
      'imported-days',
      'live',
      'notes',
      'options',
      'overview-figures',
      'ranges',
      'recount',
      'remove-value',
      'retention',
      'stats',
    ],
    ['day-closing', 'dimensions', 'value-limit'],
    ['certificate', 'certificate-line', 'closed-day', 'day-balance', 'findings'],
    ['first-day', 'sums'],
    ['visit'],
    [
      'balance',
      'book-metrics',
      'books',
      'days',
      'dimension-values',
      'keep',
      'packed-dimensions',
      'page',
      'seen-report',
      'text',
    ],
  ],
}

/** Packages that only one folder may import. */
const OWNED: Readonly<Record<string, string>> = {
  memjs: 'cache',
  ketama: 'cache',
  mysql2: 'database',
  pg: 'database',
  libsql: 'database',
  'node-cron': 'support',
  bowser: 'activity',
  'crawler-user-agents': 'page-views',
  isbot: 'page-views',
  'ipaddr.js': 'page-views',
  uuid: 'support',
}

/** Time and chance, which the protocol is handed so that a simulation can own them. */
const HANDED_IN = new RegExp(
  String.raw`\b(?:Date\.now|performance\.now|hrtime|setTimeout|setInterval|setImmediate)\b|` +
    String.raw`\b(?:Math\.random|randomUUID|randomBytes)\b|\bnew Date\(\)`,
  'g',
)
const MAY_REACH_OUT = ['support/environment.ts']

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter(isSource)
  .sort()

interface Import {
  readonly file: string
  readonly from: string
}

/** All static and dynamic imports of a source, by what is in their quotes. */
function importsIn(file: string, source: string): Import[] {
  const declared = /(?:^|[\s;}])(?:import|export)\s(?:[^'"`;]*?\sfrom\s*)?['"]([^'"]+)['"]/
  const called = /\b(?:import|require)\s*\(\s*['"]([^'"]+)['"]/
  const pattern = new RegExp(`${declared.source}|${called.source}`, 'g')
  return [...withoutComments(source).matchAll(pattern)].map((match) => ({
    file,
    from: match[1] ?? match[2] ?? '',
  }))
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:'"`\\])\/\/.*$/gm, '$1')
}

/** `wide-cache` of `wide-cache/grid.ts`; `index` of `index.ts`. */
function folderOf(path: string): string {
  return path.split('/')[0]!.replace(/\.[jt]s$/, '')
}

/** `ledger/ledger.ts` of `wide-cache/ledger/ledger.ts`. */
function within(path: string): string {
  return path.split('/').slice(1).join('/')
}

/** `wide-cache/grid.ts` of `../grid.js` in `wide-cache/ledger/ledger.ts`. */
function targetOf({ file, from }: Import): string {
  return relative(SRC, normalize(join(SRC, dirname(file), from)))
    .replaceAll('\\', '/')
    .replace(/\.js$/, '.ts')
}

/** The sources that each source imports, for their types alone among them. */
type Graph = ReadonlyMap<string, readonly string[]>

function graphOf(imports: readonly Import[]): Graph {
  const graph = new Map<string, string[]>()
  for (const one of imports.filter(({ from }) => from.startsWith('.'))) {
    graph.set(one.file, [...(graph.get(one.file) ?? []), targetOf(one)])
  }
  return graph
}

/** All files that importing one brings with it, types among them. */
function reachedFrom(file: string, graph: Graph, reached = new Set<string>()): Set<string> {
  if (reached.has(file)) return reached
  reached.add(file)
  for (const target of graph.get(file) ?? []) reachedFrom(target, graph, reached)
  return reached
}

/** Returns the largest sets of files all of which import each other, directly or not. */
function circlesIn(imports: readonly Import[]): string[][] {
  const graph = graphOf(imports)
  const reached = new Map([...graph.keys()].map((file) => [file, reachedFrom(file, graph)]))
  const circles = new Map<string, string[]>()
  for (const [file, files] of reached) {
    const circle = [...files].filter((other) => reached.get(other)?.has(file)).sort()
    const importsItself = graph.get(file)!.includes(file)
    if (circle.length > 1 || importsItself) circles.set(circle.join(), circle)
  }
  return [...circles.values()]
}

/** Returns what is wrong with an import, if anything. */
function faultOf({ file, from }: Import): string | undefined {
  const folder = folderOf(file)
  if (from.startsWith('.')) {
    const target = targetOf({ file, from })
    if (folderOf(target) !== folder) return directionFault(file, target, FOLDERS)
    const inside = INSIDE[folder]
    return inside && directionFault(within(file), within(target), inside)
  }
  const name = from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/')
  const owner = OWNED[name]
  return owner === undefined || owner === folder
    ? undefined
    : `${file} imports ${name}, which only src/${owner} may import`
}

/** Returns what is wrong if `file` imports `target`: a layer is missing, or `target` not below. */
function directionFault(file: string, target: string, layers: Structure): string | undefined {
  const [mine, theirs] = [folderOf(file), folderOf(target)]
  if (mine === theirs) return undefined
  const layerOf = (name: string) => layers.findIndex((layer) => layer.includes(name))
  for (const name of [mine, theirs]) if (layerOf(name) === -1) return `"${name}" has no layer`
  const areFiles = ![file, target].some((path) => path.includes('/'))
  return layerOf(theirs) > layerOf(mine) || (areFiles && layerOf(theirs) === layerOf(mine))
    ? undefined
    : `${file} imports ${target}, which is not below it`
}

const sources = files.map((file) => ({ file, source: readFileSync(join(SRC, file), 'utf8') }))
const imports = sources.flatMap(({ file, source }) => importsIn(file, source))

describe('the structure of the sources', () => {
  test('the sources are found, and so are their imports', () => {
    assert(files.length > 30 && files.includes('index.ts') && files.includes('cli/main.ts'))
    for (const [file, from] of [
      ['index.ts', './wide-cache/index.js'],
      ['database/mysql/sessions.ts', 'mysql2'],
      ['support/schedule.ts', 'node-cron'],
    ]) {
      assert(
        imports.some((found) => found.file === file && found.from === from),
        `${from} of ${file}`,
      )
    }
  })

  test('all entries but the first need neither requests nor widget', () => {
    for (const folder of [
      'counters',
      'sequence',
      'collision-free-map',
      'export-queue',
      'testing',
      'wide-cache',
    ]) {
      const reached = reachedFrom(`${folder}/index.ts`, graphOf(imports))
      assert(
        reached.has('database/database.ts') && reached.has('support/package-file.ts'),
        `what ${folder} needs is found`,
      )
      assert.deepEqual(
        [...reached].filter(
          (file) =>
            ['activity', 'dashboard', 'hits', 'page-views'].includes(folderOf(file)) ||
            file === 'index.ts',
        ),
        [],
      )
    }
  })

  test('Express is never loaded, because a site may have another server', () => {
    const [imported, required] = [
      /^(?:import|export) (?!type )[^'"]*?from 'express'/m,
      /\b(?:require|modules)\b[^'\n]*\('express'\)/,
    ]
    const loading = new RegExp(`${imported.source}|${required.source}`, 'm')
    assert.match("import express, { Router } from 'express'", loading)
    assert.match("const express = require('express')", loading)
    assert.deepEqual(
      sources.filter(({ source }) => loading.test(withoutComments(source))).map(({ file }) => file),
      [],
    )
  })

  test('imports point down, and each package has one folder that imports it', () => {
    assert.deepEqual(
      imports.map(faultOf).filter((found) => found !== undefined),
      [],
    )
  })

  test("an import that points up, or beside, or at another folder's package would be seen", () => {
    const forbidden: Import[] = [
      { file: 'cache/memory.ts', from: '../wide-cache/grid.js' },
      { file: 'cache/memory.ts', from: '../database/database.js' },
      { file: 'wide-cache/grid.ts', from: '../activity/visit.js' },
      { file: 'activity/visit.ts', from: '../hits/hits.js' },
      { file: 'hits/commit.ts', from: '../collision-free-map/collision-free-map.js' },
      { file: 'support/clock.ts', from: '../index.js' },
      { file: 'wide-cache/grid.ts', from: '../elsewhere/thing.js' },
      { file: 'wide-cache/writer/writer.ts', from: 'memjs' },
      { file: 'activity/stats.ts', from: 'mysql2/promise' },
      { file: 'wide-cache/ledger/ledger.ts', from: '../collector/marks.js' },
      { file: 'wide-cache/writer/writer.ts', from: '../collector/marks.js' },
      { file: 'wide-cache/grid.ts', from: './frame-of-tomorrow.js' },
      { file: 'activity/books.ts', from: './commit.js' },
    ]
    for (const one of forbidden) assert(faultOf(one), `${one.from} in ${one.file}`)
    assert.equal(faultOf({ file: 'activity/visit.ts', from: '../support/clock.js' }), undefined)
    const written =
      "import type { A } from './a.js'\nexport {\n  b,\n} from './b.js'\nimport " +
      "'./c.js'\nawait import('./d.js')\n// import './e.js'\n/* from './f.js' */"
    assert.deepEqual(
      importsIn('x.ts', written).map(({ from }) => from),
      ['./a.js', './b.js', './c.js', './d.js'],
    )
  })

  test('no sources import each other in a circle, types included', () => {
    assert.deepEqual(circlesIn(imports), [])
  })

  test('docs/contributing/architecture.md has the lines of code of each folder, to a tenth', () => {
    const lines = new Map<string, number>()
    for (const { file, source } of sources) {
      const [folder] = file.split('/') as [string]
      const code = withoutComments(source)
        .split('\n')
        .filter((line) => line.trim() !== '')
      lines.set(folder, (lines.get(folder) ?? 0) + code.length)
    }
    const docs = readFileSync(join(SRC, '../docs/contributing/architecture.md'), 'utf8')
    const rows = [...docs.matchAll(/^\| (`src\/.*?) \| .* \| ([\d,]+) \|$/gm)]
    const wrong = rows.flatMap(([, folders = '', said = '']) => {
      const names = [...folders.matchAll(/`src\/([\w-]+)\/`/g)].map(([, name]) => name!)
      const there = names.reduce((sum, name) => sum + (lines.get(name) ?? NaN), 0)
      const isRight = Math.abs(there - Number(said.replace(',', ''))) <= there / 10
      return isRight ? [] : [`${folders}: ${there}, and it says ${said}`]
    })
    assert.deepEqual(wrong, [])
    assert.equal(rows.length, 16)
  })

  test('a circle of imports would be seen', () => {
    const upwards = "import type { Engine } from '../wide-cache/engine.js'"
    const [circle = [], ...others] = circlesIn([
      ...imports,
      ...importsIn('support/clock.ts', upwards),
    ])
    assert.deepEqual(others, [])
    assert(circle.includes('support/clock.ts') && circle.includes('wide-cache/engine.ts'))
    assert(!circle.includes('index.ts'), 'what only leads into a circle is not in it')
    const small: Import[] = [
      { file: 'a.ts', from: './b.js' },
      { file: 'b.ts', from: './c.js' },
      { file: 'c.ts', from: './b.js' },
      { file: 'c.ts', from: './d.js' },
      { file: 'd.ts', from: './d.js' },
    ]
    assert.deepEqual(circlesIn(small), [['b.ts', 'c.ts'], ['d.ts']])
  })

  test('the wide cache takes no clock, timer or chance but those that it is given', () => {
    const reached = sources
      .filter(({ file }) => file.startsWith('wide-cache/') && !MAY_REACH_OUT.includes(file))
      .flatMap(({ file, source }) =>
        (withoutComments(source).match(HANDED_IN) ?? []).map((what) => `${file}: ${what}`),
      )
    assert.deepEqual(reached, [])
  })
})
