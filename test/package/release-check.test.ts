/** The release check sees where changelog, version, tag and results disagree, and gaps. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { removeFolder, temporaryFolder } from '../servers/process.js'

const SCRIPT = fileURLToPath(new URL('../../scripts/release-check.js', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MANIFEST = fileURLToPath(new URL('../../package.json', import.meta.url))
const IDENTITY = [
  '-c',
  'user.name=A maintainer',
  '-c',
  'user.email=maintainer@example.org',
  '-c',
  'commit.gpgsign=false',
]

const folder = temporaryFolder('release')
after(() => removeFolder(folder))

const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
const git = (...args: string[]): string =>
  execFileSync('git', [...IDENTITY, ...args], { cwd: folder, encoding: 'utf8' })

function changelog(...sections: string[]): string {
  return ['# Changelog\n', ...sections].join('\n')
}

const RELEASED = changelog(
  '## [Unreleased]\n',
  '## [1.2.0] - 2026-11-22\n\n### Added\n\n- A thing.\n',
  '## [1.1.0] - 2026-10-01\n\n- Another.',
)

function manifest(fields: object): string {
  const addresses = {
    repository: { type: 'git', url: 'git+https://git.example.org/some-package.git' },
    homepage: 'https://example.org',
    bugs: 'https://git.example.org/issues',
  }
  return JSON.stringify({ name: 'some-package', version: '1.2.0', ...addresses, ...fields })
}

function lock(packages: object): string {
  return JSON.stringify({ version: '1.2.0', packages: { '': { version: '1.2.0' }, ...packages } })
}

/** Writes a release that is in order, but for what is given, and commits it under `tags`. */
function release({
  file,
  text = '',
  tags = ['v1.2.0'],
}: { file?: string; text?: string; tags?: string[] } = {}): void {
  write('package.json', manifest({}))
  write('package-lock.json', lock({}))
  write('CHANGELOG.md', RELEASED)
  if (file !== undefined) write(file, text)
  git('add', '-A')
  // Always a commit of its own: those before keep no tag that counts.
  git('commit', '--allow-empty', '-qm', 'Release')
  for (const tag of tags) git('tag', '--force', tag)
}

function found(planted: Parameters<typeof release>[0]): string {
  release(planted)
  return check()
}

function check(): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT], {
    cwd: folder,
    encoding: 'utf8',
  })
  assert.equal(status, stderr === '' ? 0 : 1, stderr)
  return stdout + stderr
}

before(() => {
  git('init', '-q')
  mkdirSync(join(folder, 'src'))
  release()
})

test('a release whose changelog, version and tag agree passes', () => {
  assert.equal(check(), 'release check: changelog, version, tag and results agree on 1.2.0\n')
  assert.match(
    found({ file: 'CHANGELOG.md', text: changelog('## [1.2.0] - 2026-11-22\n\n- A thing.') }),
    /agree on 1\.2\.0/,
  )
})

test('a page or a kit that installs from a checkout is no release', () => {
  const file = 'README.md'
  assert.match(found({ file, text: '<!-- install -->\n' }), /README\.md installs from a checkout/)
  release({ file, text: 'npm install' })
  mkdirSync(join(folder, 'deploy'))
  const kit = { dependencies: { 'wide-cache': 'file:wide-cache-1.2.0.tgz' } }
  assert.match(
    found({ file: 'deploy/package.json', text: JSON.stringify(kit) }),
    /deploy\/package\.json takes a tarball/,
  )
  rmSync(join(folder, 'deploy'), { recursive: true })
})

const DISAGREEMENTS: [what: string, planted: Parameters<typeof found>[0], complaint: RegExp][] = [
  [
    'another version in package.json',
    { file: 'package.json', text: manifest({ version: '1.3.0' }) },
    new RegExp(
      String.raw`package-lock\.json has 1\.2\.0;[^]*needs the heading "## \[1\.3\.0\]` +
        String.raw`[^]*no tag v1\.3\.0; its tags are v1\.2\.0`,
    ),
  ],
  [
    'another version in package-lock.json',
    { file: 'package-lock.json', text: '{"version":"1.2.0","packages":{"":{"version":"1.1.0"}}}' },
    /package-lock\.json has 1\.2\.0 and 1\.1\.0/,
  ],
  [
    'an older version in the changelog',
    { file: 'CHANGELOG.md', text: changelog('## [1.1.0] - 2026-10-01\n') },
    /the newest is "## \[1\.1\.0\] - 2026-10-01"/,
  ],
  [
    'a newer version in the changelog',
    {
      file: 'CHANGELOG.md',
      text: changelog('## [1.3.0] - 2026-12-01\n', '## [1.2.0] - 2026-11-22\n'),
    },
    /the newest is "## \[1\.3\.0\] - 2026-12-01"/,
  ],
  [
    'a version without a date',
    { file: 'CHANGELOG.md', text: changelog('## [1.2.0]\n') },
    /needs the heading "## \[1\.2\.0\] - YYYY-MM-DD"/,
  ],
  [
    'a day that does not exist',
    { file: 'CHANGELOG.md', text: changelog('## [1.2.0] - 2026-13-22\n') },
    /needs the heading/,
  ],
  [
    'a changelog without a version',
    { file: 'CHANGELOG.md', text: changelog('## [Unreleased]\n') },
    /it has no released version/,
  ],
  [
    'entries that wait',
    {
      file: 'CHANGELOG.md',
      text: changelog('## [Unreleased]\n\n- A thing.\n', '## [1.2.0] - 2026-11-22\n'),
    },
    /entries under \[Unreleased\]/,
  ],
  [
    'a package without addresses',
    {
      file: 'package.json',
      text: manifest({ repository: undefined, homepage: '', bugs: undefined }),
    },
    /has no "repository";[^]*has no "homepage";[^]*has no "bugs"/,
  ],
  [
    'a licence that is not permissive, also of an optional dependency',
    {
      file: 'package-lock.json',
      text: lock({
        'node_modules/a': { license: 'MIT' },
        'node_modules/b': { license: 'GPL-3.0-only', optional: true },
        'node_modules/c': {},
        'node_modules/d': { license: 'GPL-3.0-only', dev: true },
      }),
    },
    /^release check: node_modules\/b has GPL-3\.0-only;.*\n.*node_modules\/c has no licence;.*\n$/,
  ],
  ['no tag', { tags: [] }, /the commit has no tag v1\.2\.0; it has no tag/],
  [
    'the tag of another version',
    { tags: ['v1.1.0'] },
    /no tag v1\.2\.0; its tags are v1\.1\.0[^]*is tagged v1\.1\.0 too/,
  ],
]

for (const [what, planted, complaint] of DISAGREEMENTS) {
  test(`${what} is seen`, () => assert.match(found(planted), complaint))
}

test('a tag on an earlier commit, and a file that was not committed, are seen', () => {
  release()
  git('commit', '--allow-empty', '-qm', 'One more')
  assert.match(check(), /the commit has no tag v1\.2\.0/)
  release()
  write('late.js', '')
  assert.match(check(), /files differ from the tagged commit: \?\? late\.js/)
})

test('the dependencies of this package have permissive licences', () => {
  const { stderr } = spawnSync(process.execPath, [SCRIPT], { cwd: ROOT, encoding: 'utf8' })
  assert.doesNotMatch(stderr, /allowed are/)
})

test('results of other code than that of the release are seen', () => {
  release({ file: 'src/frame.js', text: '1' })
  const measured = git('rev-parse', 'HEAD').trim()
  const result = (commit: string) => ({
    file: 'bench/results/full/probe.json',
    text: JSON.stringify({ part: 'probe', mode: 'full', commit, sources: ['src', 'sql'] }),
  })
  mkdirSync(join(folder, 'bench/results/full'), { recursive: true })
  for (const commit of ['', `${measured}+`, '0'.repeat(40)]) {
    assert.match(
      found(result(commit)),
      /probe\.json does not name a commit of this [^]*npm run bench -- probe --full\n/,
    )
  }
  assert.match(found(result(measured)), /results agree/)
  assert.match(found({ file: 'src/frame.test.ts', text: '' }), /results agree/)
  assert.match(
    found({ file: 'src/frame.js', text: '2' }),
    /probe\.json: since it was measured, src\/frame\.js has changed; run npm run bench/,
  )
  rmSync(join(folder, 'bench'), { recursive: true })
})

test('npm runs it before it publishes', () => {
  const { scripts } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as {
    scripts: Record<string, string>
  }
  assert.equal(scripts['release:check'], 'node scripts/release-check.js')
  assert.match(scripts['prepublishOnly'] ?? '', /npm run release:check/)
})
