/**
 * `npm run figures`: brings the results of the benchmark into the tables of the README and the
 * docs, and draws their charts.
 */
import { writeFileSync } from 'node:fs'
import { drawn } from './drawn.js'
import { reader } from './measured.js'
import { pages, render } from './pages.js'

try {
  const read = reader()
  // All are rendered before the first is written: an error leaves every file as it was.
  const changed = pages()
    .map((page) => ({ ...page, now: render(page, read) }))
    .filter(({ text, now }) => text !== now)
  for (const { file, path, now } of changed) {
    writeFileSync(path, now)
    console.log(`${file}: new figures`)
  }
  const charts = drawn().filter(({ is, shouldBe }) => is !== shouldBe)
  for (const { file, url, shouldBe } of charts) {
    writeFileSync(url, shouldBe)
    console.log(`${file}: drawn anew`)
  }
  if (changed.length + charts.length === 0) {
    console.log('README and docs have the figures of bench/results')
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
