/** Links to what is shown, as files. */
import { html } from './dom.js'

/**
 * @param {'history' | 'top'} what
 * @param {Readonly<Record<string, string | number>>} parameters
 * @param {string} title names the links for screen readers
 */
export function download(what, parameters, title) {
  const query = new URLSearchParams(
    Object.entries(parameters).map(([name, value]) => [name, String(value)]),
  )
  return ['CSV', 'JSON'].flatMap((type) => [
    ' ',
    html(
      'a',
      {
        href: `${what}.${type.toLowerCase()}?${query}`,
        download: type === 'CSV',
        class: 'download',
        'aria-label': `${title} as ${type}`,
      },
      type,
    ),
  ])
}
