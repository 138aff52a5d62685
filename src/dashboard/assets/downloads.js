/** Links to what is shown, as files. */
import { range } from './choice.js'
import { html } from './dom.js'

/**
 * @param {Readonly<Record<string, string | number>>} parameters beside the range
 * @param {string} title names the links for screen readers
 */
export function download(parameters, title) {
  const query = new URLSearchParams(
    Object.entries({ ...range(), ...parameters }).map(([name, value]) => [name, String(value)]),
  )
  return ['CSV', 'JSON'].flatMap((type) => [
    ' ',
    html(
      'a',
      {
        href: `shown.${type.toLowerCase()}?${query}`,
        download: type === 'CSV',
        class: 'download',
        'aria-label': `${title} as ${type}`,
      },
      type,
    ),
  ])
}
