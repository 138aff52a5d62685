/** A ranking: a table whose rows have bars behind them. */
import { html } from './dom.js'
import { number } from './format.js'

/**
 * @param {object} about
 * @param {string} about.caption names the table for screen readers
 * @param {string} about.what names the first column
 * @param {string} about.count names the second column
 */
export function ranking({ caption, what, count }) {
  let shown = ''
  const rows = html('tbody')
  const nothing = html('p', { class: 'none', hidden: true }, 'Nothing in this time')
  const head = html(
    'thead',
    { class: 'hidden' },
    html('tr', {}, html('th', { scope: 'col' }, what), html('th', { scope: 'col' }, count)),
  )
  const element = html(
    'div',
    {},
    html(
      'table',
      { class: 'ranked' },
      html('caption', { class: 'hidden' }, caption),
      html('colgroup', {}, html('col'), html('col', { class: 'counts' })),
      head,
      rows,
    ),
    nothing,
  )

  /** @param {readonly { name: string, count: number, quiet?: boolean, note?: string }[]} entries */
  function update(entries) {
    // What is read or selected there stays, as long as nothing changes.
    const key = JSON.stringify(entries)
    if (key === shown) return
    shown = key
    const most = Math.max(1, ...entries.map(({ count }) => count))
    rows.replaceChildren(
      ...entries.map(({ name, count, quiet, note }) => {
        const row = html(
          'tr',
          { class: quiet ? 'quiet' : undefined },
          html(
            'th',
            { scope: 'row', title: name },
            html('bdi', {}, name),
            ...(note ? [' ', html('small', {}, note)] : []),
          ),
          html('td', {}, number(count)),
        )
        row.style.setProperty('--share', `${(100 * count) / most}%`)
        return row
      }),
    )
    nothing.hidden = entries.length > 0
  }

  return { element, update }
}
