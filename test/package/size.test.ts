/**
 * Sizes of the package for those who install it, and of the widget for those who visit a site. A
 * change that goes past a limit either becomes smaller or raises the limit, and says why. Needs
 * `npm run build` before.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Bytes and files: what they are now and about a tenth more, but never over 2.25 MB unpacked and
 * 700 files. Packages: as many as there are now; the newest is ipaddr.js, which reads addresses.
 */
const LIMITS = {
  'the widget': 14_200,
  'the widget, gzipped': 4_000,
  'seen.js, gzipped': 860,
  'the tarball': 790_000,
  'the tarball, unpacked': 2_400_000,
  'files in the tarball': 705,
  'runtime dependencies': 9,
  'optional dependencies': 1,
  'packages that an install brings, without the optional ones': 20,
  'bytes that an install brings, without the optional packages': 8_000_000,
} as const

type Sizes = Readonly<Record<keyof typeof LIMITS, number>>

function sizes(): Sizes {
  const widget = readFileSync(join(ROOT, 'dist/activity/widget.js'))
  const seen = readFileSync(join(ROOT, 'dist/activity/seen.js'))
  const [tarball] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as [{ size: number; unpackedSize: number; entryCount: number }]
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Record<string, object>
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: true; optional?: true; devOptional?: true; peer?: true }>
  }
  const brought = Object.entries(lock.packages).filter(
    ([path, { dev, optional, devOptional, peer }]) =>
      path !== '' && !dev && !optional && !devOptional && !peer,
  )
  const bytes = brought.reduce((all, [path]) => all + bytesIn(path), tarball.unpackedSize)
  return {
    'the widget': widget.length,
    'the widget, gzipped': gzipSync(widget).length,
    'seen.js, gzipped': gzipSync(seen).length,
    'the tarball': tarball.size,
    'the tarball, unpacked': tarball.unpackedSize,
    'files in the tarball': tarball.entryCount,
    'runtime dependencies': Object.keys(dependencies ?? {}).length,
    'optional dependencies': Object.keys(optionalDependencies ?? {}).length,
    'packages that an install brings, without the optional ones': brought.length,
    'bytes that an install brings, without the optional packages': bytes,
  }
}

/** Bytes of the files of a package, without the packages inside it. */
function bytesIn(path: string): number {
  return readdirSync(join(ROOT, path), { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && !join(entry.parentPath, '/').includes(`${path}/node_modules/`),
    )
    .reduce((all, entry) => all + statSync(join(entry.parentPath, entry.name)).size, 0)
}

const LARGER = 1.25

function tooLarge(found: Sizes): string[] {
  return Object.entries(LIMITS).flatMap(([what, limit]) =>
    found[what as keyof Sizes] > limit
      ? [`${what}: ${found[what as keyof Sizes]}, the limit is ${limit}`]
      : [],
  )
}

const now = sizes()

test('the widget and the package are no larger than their limits', () => {
  assert.deepEqual(tooLarge(now), [])
})

test('the limits are close to the present sizes, so a quarter more would be noticed', () => {
  for (const what of Object.keys(LIMITS) as (keyof Sizes)[]) {
    const grown = { ...now, [what]: Math.ceil(now[what] * LARGER) }
    assert.deepEqual(tooLarge(grown), [`${what}: ${grown[what]}, the limit is ${LIMITS[what]}`])
  }
})
