/**
 * docs/metrics.md has every metric with its meaning, and none that is not emitted. A name says type
 * and unit. That each is emitted is tested beside its class.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BOOK_METRICS, VIEW_METRICS } from '../../src/activity/book-metrics.js'
import { MAP_METRICS } from '../../src/collision-free-map/metrics.js'
import { CACHE_ERROR_METRICS, DATABASE_ERROR_METRICS } from '../../src/connections/error-metrics.js'
import { EXPORT_METRICS } from '../../src/export-queue/metrics.js'
import type { Metric, MetricTable } from '../../src/metrics/metric.js'
import { NAME_METRICS, PROCESS_METRICS } from '../../src/wide-cache/operations/metrics.js'
import { pageOf } from './markdown.js'

const all = (...tables: readonly MetricTable[]): Metric[] =>
  tables.flatMap((table) => Object.values(table))

/** By the headings of their sections. */
const SECTIONS: Readonly<Record<string, readonly Metric[]>> = {
  'Of a name, from SQL': all(NAME_METRICS),
  'Of an activity, from SQL': all({ ...BOOK_METRICS, ...VIEW_METRICS }),
  'Of one process': all(PROCESS_METRICS),
  'Errors of one process': [...CACHE_ERROR_METRICS, ...DATABASE_ERROR_METRICS],
  'Of a map or an export queue': all(
    MAP_METRICS.stored,
    EXPORT_METRICS.stored,
    MAP_METRICS.process,
    EXPORT_METRICS.process,
  ),
}

/** A row has all metrics that mean the same. */
function tableOf(metrics: readonly Metric[]): string {
  const names = new Map<string, string[]>()
  for (const { name, help } of metrics) {
    names.set(help, [...(names.get(help) ?? []), `\`${name}\``])
  }
  const rows = [...names].map(
    ([help, all]) => `| ${all.join('<br>')} | ${help.replace(/\.$/, '')} |`,
  )
  return ['| metric | meaning |', '| --- | --- |', ...rows].join('\n')
}

const sections = new Map(
  pageOf('docs/metrics.md')
    .text.split(/^### /m)
    .slice(1)
    .map((section) => {
      const [heading = '', ...lines] = section.split('\n')
      return [heading, lines.filter((line) => line.startsWith('|')).join('\n')] as const
    }),
)

describe('docs/metrics.md has all metrics', () => {
  test('it has a section for each part, and no other', () => {
    assert.deepEqual([...sections.keys()], Object.keys(SECTIONS))
  })

  for (const [heading, metrics] of Object.entries(SECTIONS)) {
    test(`${heading}: names and meanings are those of the sources`, () => {
      assert.equal(sections.get(heading), tableOf(metrics))
    })
  }

  test('names follow the rules of Prometheus, and are used once', () => {
    const metrics = Object.values(SECTIONS).flat()
    for (const { name, type, unit } of metrics) {
      assert.match(name, /^wide_cache_[a-z]+(?:_[a-z]+)*$/)
      assert.equal(name.endsWith('_total'), type === 'counter', name)
      const bare = name.replace(/_total$/, '')
      assert.equal(bare.endsWith('_seconds'), unit === 's', name)
      assert.equal(bare.endsWith('_bytes'), unit === 'By', name)
    }
    assert.equal(new Set(metrics.map(({ name }) => name)).size, metrics.length)
  })
})
