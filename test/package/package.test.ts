/**
 * The package as users receive it: packed, installed into an empty project with Express 5,
 * imported, required, type-checked and bundled by esbuild; in `npm run test:all` also with the
 * other Nodes that it runs on, the oldest TypeScript, Express 4 and webpack. Needs `npm run build`
 * before, and the npm registry.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { namesInExamples, namesInText } from '../docs/names.js'
import { removeFolder, temporaryFolder } from '../servers/process.js'
import { ALL, fewOrMany } from '../scale.js'
import { isBuilt } from '../sources.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CONSUMER = fileURLToPath(new URL('./consumer', import.meta.url))
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')
/** The oldest TypeScript that `docs/compatibility.md` names. The newest one is {@link TSC}. */
const OLDEST_TYPESCRIPT = '5.4'
const FOR_OLDEST = fewOrMany([], ['oldest-modules', 'oldest-commonjs'])
const NEWEST_EXPRESS = '5'
/** Tried on this Node and with the newest TypeScript only. */
const OLDER_EXPRESSES = fewOrMany([], ['4'])
const WEBPACK = fewOrMany([], ['webpack@5'])
const WEBPACK_BUNDLES = fewOrMany([], ['webpack-all.cjs', 'webpack-external.cjs'])
const OTHER_NODES = fewOrMany([], ['22', '24'])
const TIMEOUT_MS = 600_000

interface Manifest {
  readonly version: string
  readonly exports: { readonly [entry: string]: string | { readonly types: string } }
  readonly typesVersions: { readonly '*': { readonly [entry: string]: readonly string[] } }
}

/** All that the tarball may hold. */
const ALLOWED = [
  /^package\.json$/,
  /^README\.md$/,
  /^LICENSE$/,
  /^CHANGELOG\.md$/,
  /^docs\/[\w-]+\.(?:md|png)$/,
  /^deploy\/(?:[\w/-]+(?:\.test)?\.\w+|\.dockerignore|Dockerfile)$/,
  /^dist\/[\w/-]+(?:\.d\.ts|\.js)$/,
  /^dist\/dashboard\/assets\/[a-z-]+\.(?:html|css|svg|json)$/,
  /^sql\/(?:mysql|postgres|sqlite)\/[a-z-]+\/\d{4}_\w+\.sql$/,
]

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
const folder = temporaryFolder('package')
after(() => removeFolder(folder))

/** npm tells its children about the project it runs in; those here are to know nothing of it. */
const NOT_INHERITED = [
  /^npm_(?:package|lifecycle|config_local_prefix|command|execpath)/i,
  /^(?:INIT_CWD|NODE_OPTIONS|NODE_TEST_CONTEXT)/i,
  /^(?:(?:WIDE_CACHE_|MEMCACHE_)SERVERS|(?:WIDE_CACHE_)?DATABASE_URL|REDIS_URL)/i,
]
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !NOT_INHERITED.some((one) => one.test(name))),
)

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    return (
      await promisify(execFile)(command, args, {
        cwd,
        env,
        timeout: TIMEOUT_MS,
        maxBuffer: 16 * 1024 * 1024,
      })
    ).stdout
  } catch (error) {
    const said = ['stdout', 'stderr']
      .map((stream) =>
        error instanceof Error && stream in error ? Reflect.get(error, stream) : '',
      )
      .join('\n')
    throw new Error(`${command} ${args.join(' ')} has failed:\n${said}`, { cause: error })
  }
}

/** The tarball's path and the files in it. The scripts are left out: others may be using dist. */
async function pack(): Promise<{ tarball: string; files: string[] }> {
  const [packed] = JSON.parse(
    await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], ROOT),
  ) as [{ filename: string; files: { path: string }[] }]
  return { tarball: join(folder, packed.filename), files: packed.files.map(({ path }) => path) }
}

/** Writes a configuration of the compiler, strict, that checks the declarations of packages too. */
function configure(
  project: string,
  name: string,
  module: 'nodenext' | 'commonjs',
  target: string,
  files: readonly string[],
): void {
  const compilerOptions = {
    module,
    target,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    esModuleInterop: true,
    types: ['node'],
  }
  writeFileSync(join(project, `${name}.json`), JSON.stringify({ compilerOptions, files }))
}

/** A project with `packages`, in addition to those of `base`; without a base it was empty. */
async function install(
  name: string,
  sources: { readonly [file: string]: string },
  packages: readonly string[],
  base?: string,
): Promise<string> {
  const project = join(folder, name)
  mkdirSync(project)
  if (base === undefined) {
    writeFileSync(
      join(project, 'package.json'),
      JSON.stringify({ name: 'consumer', version: '1.0.0', private: true }),
    )
  } else {
    for (const part of ['package.json', 'package-lock.json', 'node_modules']) {
      // npm's links to commands are relative, and stay so.
      cpSync(join(base, part), join(project, part), { recursive: true, verbatimSymlinks: true })
    }
  }
  for (const [file, source] of Object.entries(sources)) {
    copyFileSync(join(CONSUMER, source), join(project, file))
  }
  const typed = (ending: string) => Object.keys(sources).filter((file) => file.endsWith(ending))
  configure(project, 'tsconfig', 'nodenext', 'es2023', typed('ts'))
  // Before 5.8 no CommonJS module may import an ES module, unless the compiler knows of neither.
  configure(project, 'oldest-modules', 'nodenext', 'es2022', typed('mts'))
  configure(project, 'oldest-commonjs', 'commonjs', 'es2022', typed('cts'))
  await run('npm', ['install', '--no-audit', '--no-fund', ...packages], project)
  return project
}

const EXAMPLES = {
  'examples.mts': 'examples.ts.txt',
  'examples.cts': 'examples.ts.txt',
  'classes.mts': 'classes.ts.txt',
  'classes.cts': 'classes.ts.txt',
}
const PROGRAMS = {
  'visits.cjs': 'visits.cjs',
  'run.mjs': 'run.mjs',
  'run.cjs': 'run.cjs',
  'types.mts': 'types.ts.txt',
  'types.cts': 'types.ts.txt',
  ...EXAMPLES,
}
const BUNDLED = { 'server.mjs': 'server.mjs', 'bundle.mjs': 'bundle.mjs' }

async function compileWithOldest(project: string, configuration: string): Promise<void> {
  const tsc = join(project, 'node_modules/oldest-typescript/bin/tsc')
  const version = await run(process.execPath, [tsc, '--version'], project)
  assert(version.startsWith(`Version ${OLDEST_TYPESCRIPT}.`), version)
  await run(process.execPath, [tsc, '-p', `${configuration}.json`], project)
}

/** The path of another Node, from the npm registry. */
async function nodeOf(version: string): Promise<string> {
  return (
    await run('npx', ['-y', '-p', `node@${version}`, 'node', '-p', 'process.execPath'], folder)
  ).trim()
}

let packed: Awaited<ReturnType<typeof pack>>
const projects = new Map<string, string>()
const nodes = new Map<string, string>([['this', process.execPath]])
before(async () => {
  packed = await pack()
  const untyped = await install('untyped', { ...EXAMPLES, 'adapter.mjs': 'adapter.mjs' }, [
    packed.tarball,
    '@types/node@20',
    ...fewOrMany([], [`oldest-typescript@npm:typescript@~${OLDEST_TYPESCRIPT}.0`]),
  ])
  projects.set('untyped', untyped)
  const typed = (express: string, sources: typeof PROGRAMS, ...others: readonly string[]) =>
    install(
      `express-${express}`,
      sources,
      [`express@${express}`, `@types/express@${express}`, ...others],
      untyped,
    )
  await Promise.all([
    typed(NEWEST_EXPRESS, { ...PROGRAMS, ...BUNDLED }, 'esbuild', ...WEBPACK).then((project) =>
      projects.set(NEWEST_EXPRESS, project).set('bundled', project),
    ),
    ...OLDER_EXPRESSES.map(async (express) =>
      projects.set(express, await typed(express, PROGRAMS)),
    ),
    ...OTHER_NODES.map(async (version) => nodes.set(version, await nodeOf(version))),
  ])
})

test('the tarball holds what users need, and nothing else', () => {
  assert.deepEqual(
    packed.files.filter(
      (file) =>
        !ALLOWED.some((pattern) => pattern.test(file)) ||
        /\b(?:test|suite|fixture)\b.*[jt]s$/.test(file),
    ),
    [],
  )
  for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md']) {
    assert(packed.files.includes(file), file)
  }
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    isBuilt,
  )
  assert.deepEqual(
    packed.files.filter((file) => /^dist\/.*\.js$/.test(file)).sort(),
    sources.map((file) => `dist/${file.replace(/\.ts$/, '.js')}`).sort(),
    'dist is what src says (npm run build)',
  )
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    // Pages of the API and for contributors, and pictures that the docs on the web show.
    .filter((file) => /\.\w+$/.test(file) && !/^(?:api\/|contributing\/|dashboard-)/.test(file))
    .map((file) => `docs/${file}`)
  assert.deepEqual(packed.files.filter((file) => file.startsWith('docs/')).sort(), docs.sort())
  const schemas = readdirSync(join(ROOT, 'sql'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .map((file) => `sql/${file}`)
  assert.deepEqual(packed.files.filter((file) => file.startsWith('sql/')).sort(), schemas.sort())
})

const tool = (path: string): string => join(ROOT, 'node_modules', path)

test('publint finds nothing wrong in the tarball', async () => {
  await run(process.execPath, [tool('publint/src/cli.js'), packed.tarball, '--strict'], folder)
})

test('attw resolves every entry to its types, with every way of resolving', async () => {
  // Node lets CommonJS require the ES modules of this package: tests below do.
  const rules = ['--ignore-rules', 'cjs-resolves-to-esm']
  const cli = tool('@arethetypeswrong/cli/dist/index.js')
  await run(process.execPath, [cli, packed.tarball, ...rules], folder)
})

for (const express of [NEWEST_EXPRESS, ...OLDER_EXPRESSES]) {
  const isNewest = express === NEWEST_EXPRESS
  // They mostly wait.
  describe(`installed beside Express ${express}`, { concurrency: 2 }, () => {
    for (const node of isNewest ? ['this', ...OTHER_NODES] : ['this']) {
      const runtime = node === 'this' ? 'this Node' : `Node ${node}`
      for (const [way, program] of [
        ['imported', 'run.mjs'],
        ['required', 'run.cjs'],
      ] as const) {
        test(`${way} on ${runtime}, it records visits and reads them back`, async () => {
          const project = projects.get(express)!
          // The embedded default is a file in the working directory.
          const workplace = mkdtempSync(join(project, 'workplace-'))
          const output = await run(nodes.get(node)!, [join(project, program)], workplace)
          assert.deepEqual(JSON.parse(output), {
            pageViews: 3,
            visitors: 2,
            committed: 3,
            lost: 0,
            sum: 42,
            widget: true,
            error: true,
          })
          assert(readdirSync(workplace).includes('wide-cache.db'))
        })
      }
    }

    if (isNewest || ALL) {
      test('its types fit strict ES modules and CommonJS', async () => {
        await run(process.execPath, [TSC, '-p', '.'], projects.get(express)!)
      })
    }

    if (!isNewest) return

    for (const configuration of FOR_OLDEST) {
      test(`its types fit TypeScript ${OLDEST_TYPESCRIPT} (${configuration})`, async () => {
        await compileWithOldest(projects.get(express)!, configuration)
      })
    }

    test('its command is there', async () => {
      const project = projects.get(express)!
      const command = join(project, 'node_modules/.bin/wide-cache')
      assert.equal(await run(command, ['--version'], project), `${manifest.version}\n`)
      await run(command, ['migrate', '--database', 'sqlite:./cli.db'], project)
      assert(readdirSync(project).includes('cli.db'))
    })
  })
}

test("its types and the docs' examples compile without @types/express", async () => {
  const project = projects.get('untyped')!
  assert(!existsSync(join(project, 'node_modules/@types/express')))
  await run(process.execPath, [TSC, '-p', '.'], project)
  if (ALL) await compileWithOldest(project, 'oldest-modules')
})

test('an adapter of another package runs the conformance suites with node:test alone', async () => {
  const project = projects.get('untyped')!
  const adapter = join(project, 'adapter.mjs')
  const said = await run(process.execPath, ['--test-reporter=tap', adapter], project)
  assert.match(said, /^ok \d+ - toy cache: add stores only where nothing is$/m)
  assert.match(said, /^ok \d+ - toy database: nobody sees what is not committed$/m)
  assert.match(said, /^# fail 0$/m)
  await assert.rejects(
    run(process.execPath, ['--test-reporter=tap', adapter, '--broken'], project),
    /not ok \d+ - broken: append puts bytes behind what is there/,
  )
})

describe('bundled', () => {
  const bundle = (file: string) => join(projects.get('bundled')!, 'bundles', file)
  const ends = (file: string) =>
    run(process.execPath, [bundle(file)], mkdtempSync(join(projects.get('bundled')!, 'workplace-')))
  before(() => run(process.execPath, ['bundle.mjs', ...WEBPACK_BUNDLES], projects.get('bundled')!))

  for (const file of [
    'esbuild-packages.mjs',
    'esbuild-packages.cjs',
    'esbuild-external.mjs',
    'esbuild-external.cjs',
    ...WEBPACK_BUNDLES,
  ]) {
    test(`${file} counts visits`, async () => {
      assert.deepEqual(JSON.parse(await ends(file)), { pageViews: 1, widget: true })
    })
  }

  for (const file of ['esbuild-all.mjs', 'esbuild-all.cjs', ...WEBPACK_BUNDLES.slice(0, 1)]) {
    test(`${file} without the package beside it refuses to start and says how`, async () => {
      const installed = join(projects.get('bundled')!, 'node_modules/wide-cache')
      renameSync(installed, `${installed}-away`)
      try {
        await assert.rejects(
          ends(file),
          /wide-cache: this program is a bundle.*packages: 'external'.*'commonjs wide-cache'/,
        )
      } finally {
        renameSync(`${installed}-away`, installed)
      }
    })
  }
})

test('the consumer that compiles uses every public class', async () => {
  const consumer = readFileSync(join(CONSUMER, 'classes.ts.txt'), 'utf8')
  const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith('.json'))
  const exported = entries
    .map((entry) => `...Object.entries(require('${entry.replace(/^\./, 'wide-cache')}'))`)
    .join(', ')
  const script =
    `JSON.stringify([${exported}].filter(([, one]) => /^class\\b/.test(one))` +
    '.map(([name]) => name))'
  const classes = await run(process.execPath, ['-p', script], projects.get('5')!)
  const names = JSON.parse(classes) as string[]
  assert(names.includes('WideCache') && names.includes('SequenceError'), classes)
  assert.deepEqual(
    names.filter((name) => !new RegExp(`(?:new|extends|instanceof) ${name}\\b`).test(consumer)),
    [],
  )
})

test('the oldest TypeScript is the one that the docs name', () => {
  const docs = readFileSync(join(ROOT, 'docs/compatibility.md'), 'utf8')
  assert(docs.includes(`\n| TypeScript | ${OLDEST_TYPESCRIPT} and later`))
})

describe('what is public is what is documented', () => {
  const entries = Object.keys(manifest.exports)
    .filter((entry) => !entry.endsWith('.json'))
    .map((entry) => entry.replace(/^\./, 'wide-cache'))
  const examples = namesInExamples()
  const text = namesInText()

  for (const entry of entries) {
    test(entry, async () => {
      const script =
        `Object.keys(require('${entry}')).filter((name) => name !== ` + `'__esModule').join(' ')`
      const names = (await run(process.execPath, ['-p', script], projects.get('5')!))
        .trim()
        .split(' ')
        .sort()
      assert(names.length > 0)
      assert.deepEqual(
        [...(examples.get(entry) ?? [])].filter((name) => !names.includes(name)),
        [],
        `what examples in docs/ import from ${entry}, and it does not export`,
      )
      assert.deepEqual(
        names.filter((name) => !text.has(name)),
        [],
        `exports of ${entry} that no sentence of docs/ names`,
      )
    })
  }

  test('no example imports from anywhere else', () => {
    assert.deepEqual(
      [...examples.keys()].filter((entry) => !entries.includes(entry)),
      [],
    )
  })
})

test('compilers that know no exports (module: commonjs) find the same declarations', () => {
  const entries = Object.entries(manifest.exports).filter(
    ([entry]) => entry.startsWith('./') && !entry.endsWith('.json'),
  )
  const declared = entries.map(([entry, target]) => [
    entry.slice(2),
    typeof target === 'string' ? [] : [target.types],
  ])
  assert(declared.length >= 3)
  assert.deepEqual(Object.fromEntries(declared), manifest.typesVersions['*'])
})

for (const version of OTHER_NODES) {
  test(`what is called Node ${version} is Node ${version}`, async () => {
    const said = await run(nodes.get(version)!, ['--version'], folder)
    assert.match(said, new RegExp(`^v${version}\\.`))
  })
}
