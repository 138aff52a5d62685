// Fails when changelog, version and tag disagree, when package.json does not say where the project
// lives, and when a dependency has a licence that is not listed here: npm run release:check, and
// before npm publish. Reads the folder it runs in.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Addresses that npm shows beside the package, and that provenance is checked against. */
const ADDRESSES = ['repository', 'homepage', 'bugs']

/** Licences that let anybody use the package in closed programs. */
const PERMISSIVE = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense']

const problems = [...versions(), ...addresses(), ...licences(), ...changelog(), ...tag()]
for (const problem of problems) console.error(`release check: ${problem}`)
if (problems.length === 0) {
  console.log(`release check: changelog, version and tag agree on ${version()}`)
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

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
