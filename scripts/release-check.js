// Fails if changelog, version and tag disagree, if package.json does not say where the project
// lives, if a dependency has a licence that is not listed here, or if something has changed since
// it was measured: npm run release:check, and before npm publish. Reads the folder it runs in.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Addresses that npm shows beside the package, and that provenance is checked against. */
const ADDRESSES = ['repository', 'homepage', 'bugs']

/** Licences that let anybody use the package in closed programs. */
const PERMISSIVE = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense']

const RESULTS = 'bench/results'
// Nothing that is measured.
const TESTS = [':!*.test.ts', ':!*.suite.ts', ':!*.fixture.ts']

const problems = [
  ...versions(),
  ...addresses(),
  ...licences(),
  ...changelog(),
  ...tag(),
  ...results(),
  ...checkouts(),
]
for (const problem of problems) console.error(`release check: ${problem}`)
if (problems.length === 0) {
  console.log(`release check: changelog, version, tag and results agree on ${version()}`)
}
process.exitCode = problems.length > 0 ? 1 : 0

function json(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function version() {
  return json('package.json').version
}

function versions() {
  const lock = json('package-lock.json')
  const locked = [...new Set([lock.version, lock.packages[''].version])].join(' and ')
  return locked === version()
    ? []
    : [
        `package.json has version ${version()}, package-lock.json has ${locked}; npm version ` +
          'changes both',
      ]
}

function addresses() {
  const manifest = json('package.json')
  return ADDRESSES.filter((field) => !manifest[field]).map(
    (field) => `package.json has no "${field}"; give the address of the project`,
  )
}

/** Of all packages that an install brings, the optional ones too. */
function licences() {
  return Object.entries(json('package-lock.json').packages)
    .filter(([path, { dev, license }]) => path !== '' && !dev && !PERMISSIVE.includes(license))
    .map(
      ([path, { license = 'no licence' }]) =>
        `${path} has ${license}; allowed are ${PERMISSIVE.join(', ')}`,
    )
}

function changelog() {
  const [, ...sections] = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m)
  const problems = []
  if (sections[0]?.startsWith('[Unreleased]')) {
    const [, ...waiting] = sections.shift().split('\n')
    if (waiting.some((line) => line.trim() !== '')) {
      problems.push(`CHANGELOG.md has entries under [Unreleased]; move them under [${version()}]`)
    }
  }
  const [heading = ''] = (sections[0] ?? '').split('\n')
  const [, newest, date] = /^\[(.+?)\] - (\d{4}-\d{2}-\d{2})\s*$/.exec(heading) ?? []
  if (newest !== version() || Number.isNaN(Date.parse(date))) {
    const found = heading === '' ? 'it has no released version' : `the newest is "## ${heading}"`
    problems.push(`CHANGELOG.md needs the heading "## [${version()}] - YYYY-MM-DD"; ${found}`)
  }
  return problems
}

function tag() {
  const wanted = `v${version()}`
  const problems = []
  const tags = git('tag', '--points-at', 'HEAD')
  if (!tags.includes(wanted)) {
    problems.push(
      `the commit has no tag ${wanted}; ` +
        `${tags.length === 0 ? 'it has no tag' : `its tags are ${tags.join(', ')}`}`,
    )
  }
  const others = tags.filter((name) => /^v\d/.test(name) && name !== wanted)
  if (others.length > 0) {
    problems.push(
      `the commit is tagged ${others.join(', ')} too; package.json has version ${version()}`,
    )
  }
  const changed = git('status', '--porcelain')
  if (changed.length > 0) {
    problems.push(`files differ from the tagged commit: ${changed.join(', ')}`)
  }
  return problems
}

/** Each result of the benchmark names the commit that was measured, and its files. */
function results() {
  if (!existsSync(RESULTS)) return []
  return readdirSync(RESULTS, { recursive: true })
    .filter((file) => file.endsWith('.json'))
    .sort()
    .flatMap((file) => {
      const { part, mode, commit = '', sources } = json(`${RESULTS}/${file}`)
      const again = `run npm run bench -- ${part}${mode === 'full' ? ' --full' : ''}`
      if (!/^[0-9a-f]{40}$/.test(commit) || !isCommit(commit)) {
        return [`${RESULTS}/${file} does not name a commit of this repository; ${again}`]
      }
      const changed = git('diff', '--name-only', commit, 'HEAD', '--', ...sources, ...TESTS)
      return changed.length === 0
        ? []
        : [`${RESULTS}/${file}: since it was measured, ${changed[0]} has changed; ${again}`]
    })
}

/** Texts of the time before the first release, which say how to install from a checkout. */
function checkouts() {
  const pages = ['README.md', 'docs/getting-started.md']
    .filter((file) => existsSync(file) && readFileSync(file, 'utf8').includes('<!-- install -->'))
    .map((file) => `${file} installs from a checkout; write npm install wide-cache express`)
  const kit = 'deploy/package.json'
  const fromFile =
    existsSync(kit) && json(kit).dependencies?.['wide-cache']?.startsWith('file:')
      ? [`${kit} takes a tarball; give the version, and copy none in deploy/Dockerfile`]
      : []
  return [...pages, ...fromFile]
}

function isCommit(commit) {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`]).status === 0
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
