/** The text format of Prometheus, version 0.0.4. */
import type { Labels, Reading } from './metric.js'

/** The content type of a page of metrics. */
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Something that has a page of metrics: an activity, a map, the `register` of prom-client. */
export interface MetricsSource {
  /** The text of its metrics. */
  metrics(): string | Promise<string>
}

/** The readings as a page; those of one metric are to come as one. */
export function prometheusText(readings: readonly Reading[]): string {
  const lines = readings
    .filter(({ samples }) => samples.length > 0)
    .flatMap(({ metric: { name, type, help }, samples }) => [
      `# HELP ${name} ${help.replace(/[\\\n]/g, escaped)}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ labels, value }) => `${name}${labelsText(labels)} ${numberText(value)}`),
    ])
  return lines.map((line) => `${line}\n`).join('')
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replace(/[\\\n"]/g, escaped)}"`,
  )
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}

function numberText(value: number): string {
  if (Math.abs(value) === Infinity) return value > 0 ? '+Inf' : '-Inf'
  return String(value)
}

/**
 * Joins the metrics of several objects to one page, in which each metric has its `HELP` and `TYPE`
 * once, as Prometheus wants it. Takes everything that has a method `metrics()`, the `register` of
 * prom-client too. Of two series with the same name and labels it keeps the first.
 *
 * @throws what a `metrics()` throws
 *
 * @example
 * ```js
 * import { createActivity, createHits, joinMetrics } from 'wide-cache'
 *
 * const activity = createActivity()
 * const hits = createHits({ name: 'threads' })
 * const page = await joinMetrics(activity, hits)
 * console.log(page.match(/^# TYPE wide_cache_process_issued_total/gm)?.length) // 1
 * await Promise.all([activity.close(), hits.close()])
 * ```
 */
export async function joinMetrics(...sources: readonly MetricsSource[]): Promise<string> {
  const pages = await Promise.all(sources.map((source) => source.metrics()))
  const families = new Map<string, Family>()
  for (const page of pages) addPage(page, families)
  return [...families.values()]
    .map(({ comments, samples }) => [...comments.values(), ...samples.values()].join(''))
    .join('')
}

/** The lines of one metric: its comments by their words, its samples by their series. */
interface Family {
  readonly comments: Map<string, string>
  readonly samples: Map<string, string>
}

function addPage(page: string, families: Map<string, Family>): void {
  let family: Family | undefined
  let named = ''
  for (const line of page.split('\n')) {
    const [, word = '', name = ''] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? []
    if (word !== '') {
      named = name
      family = familyOf(name, families)
      if (!family.comments.has(word)) family.comments.set(word, `${line}\n`)
    } else if (line !== '' && !line.startsWith('#')) {
      // A histogram's samples have other names than the metric that they stand under.
      const series = /^[^\s{]+(?:\{(?:"(?:[^"\\]|\\.)*"|[^}"])*\})?/.exec(line)?.[0] ?? line
      const own = series.replace(/\{.*/s, '')
      if (!family || !own.startsWith(named)) {
        named = own
        family = familyOf(own, families)
      }
      if (!family.samples.has(series)) family.samples.set(series, `${line}\n`)
    }
  }
}

function familyOf(name: string, families: Map<string, Family>): Family {
  const family = families.get(name) ?? { comments: new Map(), samples: new Map() }
  families.set(name, family)
  return family
}
