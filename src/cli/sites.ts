/** `wide-cache status --all`: the page views of all activities of a database, a row for each. */
import { readOverview, type SiteFigures } from '../activity/overview-figures.js'
import type { Database } from '../database/database.js'
import { measureOf } from '../page-views/measures.js'
import { printableJson } from '../support/printable.js'
import { amount, textTable } from './table.js'

const BARS = '▁▂▃▄▅▆▇█'
const LINE_DAYS = 14
const HEAD = ['SITE', '10 MINUTES', '7 DAYS', 'CHANGE', `${LINE_DAYS} DAYS`]

export async function sitesText(database: Database, json: boolean): Promise<string> {
  const { rows } = await database.query('SELECT name FROM activity_books')
  const names = rows.map(({ name }) => String(name))
  const served = names.filter((name) => measureOf(name).measure === 'served')
  const sites = await readOverview(database, served, await database.now())
  if (json) return `${printableJson(sites)}\n`
  if (sites.length === 0) return 'No activity has page views in this database yet.\n'
  return sitesTable(sites)
}

/** A row for each site, below the headings. */
export function sitesTable(sites: readonly SiteFigures[]): string {
  return textTable([HEAD, ...sites.map((site) => rowOf(site))])
}

function rowOf({ name, now, week, change, days }: SiteFigures): string[] {
  const percent = change === null ? '' : `${change < 0 ? '' : '+'}${Math.round(change * 100)} %`
  const shown = days.slice(-LINE_DAYS)
  const most = Math.max(1, ...shown.map((views) => views ?? 0))
  const line = shown.map((views) =>
    views === null ? ' ' : BARS.charAt(Math.ceil((views / most) * (BARS.length - 1))),
  )
  const figures = [amount(now), week === null ? '' : amount(week), percent]
  const aligned = figures.map((text, at) => text.padStart(HEAD[at + 1]!.length))
  return [name, ...aligned, line.join('')]
}
