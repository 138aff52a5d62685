import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NoPages } from './no-pages.js'

test('the last answer of a target tells, and an extension that is never a page', () => {
  const noPages = new NoPages()
  assert.deepEqual(
    ['/menu.pdf', '/a.PNG?b', '/feed.xml#c', '/menu', '/index.php', '/?of=a.pdf'].map((target) =>
      noPages.has(target),
    ),
    [true, true, true, false, false, false],
  )
  noPages.add('/menu')
  assert(noPages.has('/menu'))
  assert(!noPages.has('/menu?page=2'))
  noPages.delete('/menu')
  assert(!noPages.has('/menu'))
})

test('strangers who ask for ever more targets fill no memory, and the newest are known', () => {
  const noPages = new NoPages()
  const targets = Array.from({ length: 10_000 }, (_, i) => `/${'x'.repeat(i % 900)}${i}`)
  for (const target of targets) noPages.add(target)
  const known = targets.filter((target) => noPages.has(target))
  assert(known.length > 50 && known.length < 1_000, `${known.length} targets`)
  assert.deepEqual(known, targets.slice(-known.length))
  const long = `/${'x'.repeat(5_000)}`
  noPages.add(long)
  assert(!noPages.has(long))
})

test('what led to no page for a while takes no room afterwards', () => {
  const noPages = new NoPages()
  for (let n = 0; n < 2_000; n++) {
    noPages.add(`/menu/${n}`)
    noPages.delete(`/menu/${n}`)
  }
  assert(noPages.isEmpty)
  for (const target of ['/a', '/b']) noPages.add(target)
  assert(noPages.has('/a') && noPages.has('/b'))
})
