/**
 * Links and pictures of the README, the docs and the project's other pages lead somewhere; those of
 * pages in the package also where only the package is.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  API_REFERENCE,
  docs,
  type Page,
  pageOf,
  pages,
  withoutBlocks,
  writtenDocs,
} from './markdown.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** As `wc -w` counts them. */
const MOST_WORDS = { 'the README': 700, docs: 34_000, 'docs/contributing': 10_000 }
const MOST_BYTES = 100_000

const { files: packed } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  files: string[]
}
const readme = pageOf('README.md')

interface Link {
  readonly target: string
  /** From the root of the project. */
  readonly file: string
  readonly anchor: string | undefined
}

/** The links of a page to files of ours. */
function linksOf({ file, text }: Page): Link[] {
  return [
    ...withoutBlocks(text)
      .replace(/`[^`\n]*`/g, '`code`')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].flatMap(([, target = '']) => {
    if (/^(?:https?|mailto):/.test(target)) return []
    const [path = '', anchor] = target.split('#')
    return { target, file: path === '' ? file : normalize(join(dirname(file), path)), anchor }
  })
}

/** The anchors of a page: those that GitHub and npm make of its headings, and its own. */
function anchorsOf(text: string): Set<string> {
  const times = new Map<string, number>()
  const ofHeadings = [...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-')
    const before = times.get(anchor) ?? 0
    times.set(anchor, before + 1)
    return before === 0 ? anchor : `${anchor}-${before}`
  })
  const own = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)
  return new Set([...ofHeadings, ...own])
}

function broken(page: Page): string[] {
  return linksOf(page)
    .filter(({ file, anchor }) => {
      if (file !== page.file && !existsSync(join(ROOT, file))) return true
      return (
        anchor !== undefined &&
        !anchorsOf(file === page.file ? page.text : pageOf(file).text).has(anchor)
      )
    })
    .map(({ target }) => target)
}

/** Whether the package has a file: `files` names it or its folder, and no line with `!` does. */
function isPacked(file: string): boolean {
  // npm packs it always.
  if (file === 'README.md') return true
  const isNamed = (line: string): boolean => {
    const pattern = line.replace(/[.+]/g, String.raw`\$&`).replaceAll('*', '[^/]*')
    return new RegExp(`^${pattern}(?:/|$)`).test(file)
  }
  const excluded = packed.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  return packed.some(isNamed) && !excluded.some(isNamed)
}

describe('every link leads to a file, and to a heading in it:', () => {
  for (const page of pages()) {
    test(page.file, () => assert.deepEqual(broken(page), []))
  }
})

test('a broken link would be seen', () => {
  assert.deepEqual(
    broken({
      file: 'docs/page.md',
      text:
        '# A page: so\n[a](#a-page-so) [b](#b) [c](concepts.md#glossary) ' +
        '[d](concepts.md#d) ![e](e.png)\n```md\n[f](f.md)\n```\n' +
        '# Twice\n# Twice\n[g](#twice-1) [h](#twice-2) <a id="own"></a>[i](#own)',
    }),
    ['#b', 'concepts.md#d', 'e.png', '#twice-2'],
  )
})

describe('a page of the package refers only to what is in the package:', () => {
  const inPackage = pages().filter(({ file }) => isPacked(file))
  test('README, CHANGELOG, docs and deploy kit are such pages', () => {
    for (const file of ['README.md', 'CHANGELOG.md', 'docs/hits.md', 'deploy/README.md']) {
      assert(
        inPackage.some((page) => page.file === file),
        file,
      )
    }
    for (const file of ['docs/api/README.md', 'docs/contributing/testing.md', 'CONTRIBUTING.md']) {
      assert(!isPacked(file), `what \`files\` leaves out would be seen: ${file}`)
    }
  })

  for (const page of inPackage) {
    test(page.file, () => {
      assert.deepEqual(
        linksOf(page)
          .filter(({ file }) => !isPacked(file))
          .map(({ target }) => target),
        [],
      )
    })
  }
})

test('README or CONTRIBUTING leads to every page of the docs, or to one that does', () => {
  const contents = docs().filter(
    ({ file }) => file.startsWith(API_REFERENCE) && file.endsWith('README.md'),
  )
  const linked = new Set(
    [readme, pageOf('CONTRIBUTING.md'), ...writtenDocs(), ...contents]
      .flatMap(linksOf)
      .map(({ file }) => file),
  )
  assert.deepEqual(
    docs()
      .map(({ file }) => file)
      .filter((file) => !linked.has(file)),
    [],
  )
})

describe('pages have few words:', () => {
  const contributing = (page: Page): boolean => page.file.startsWith('docs/contributing/')
  const PAGES: Record<keyof typeof MOST_WORDS, readonly Page[]> = {
    'the README': [readme],
    docs: writtenDocs().filter((page) => !contributing(page)),
    'docs/contributing': writtenDocs().filter(contributing),
  }
  for (const [what, some] of Object.entries(PAGES)) {
    const most = MOST_WORDS[what as keyof typeof MOST_WORDS]
    test(`${what}: at most ${most}`, () => {
      assert(some.length > 0)
      const words = some.reduce((sum, { text }) => sum + (text.match(/\S+/g)?.length ?? 0), 0)
      assert(words <= most, `${words} words`)
    })
  }
})

test('a page that begins with an example says in which kind of file it works', () => {
  const first = [readme, ...writtenDocs()].flatMap(({ file, text }) => {
    const at = /^```js\n/m.exec(text)?.index
    return at === undefined ? [] : [{ file, before: text.slice(0, at) }]
  })
  assert(first.length > 10)
  assert.deepEqual(
    first.flatMap(({ file, before }) => (before.includes('.mjs`') ? [] : [file])),
    [],
  )
})

test('the pictures of the README are small', () => {
  const pictures = [...readme.text.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, file = '']) => file)
  assert(pictures.length > 0)
  for (const file of pictures) {
    assert(
      statSync(join(ROOT, file)).size <= MOST_BYTES,
      `${file} is of ${statSync(join(ROOT, file)).size} bytes`,
    )
  }
})
