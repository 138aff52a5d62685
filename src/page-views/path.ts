/** `http://host` before the path: HTTP lets a client send the whole address (RFC 9112, 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i

/** The path of a request's target, without query and without host, as it was sent. */
export function pathOf(target: string): string {
  return upTo('#', upTo('?', withoutOrigin(target))) || '/'
}

function withoutOrigin(target: string): string {
  return target.startsWith('/') ? target : target.replace(ORIGIN, '')
}

/** Puts `prefix`, a path that a proxy has removed, before a target again. */
export function prefixed(prefix: string, target: string): string {
  const rest = withoutOrigin(target)
  return prefix + (rest.startsWith('/') ? rest : `/${rest}`)
}

/** The target without `prefix`, which is itself `/`; `undefined`: it is not below that. */
export function targetBelow(prefix: string, target: string): string | undefined {
  if (!target.startsWith(prefix)) return undefined
  const rest = target.slice(prefix.length)
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : undefined
}

const ENCODED = /%([0-9a-f]{2})/gi
const UNRESERVED = /[\w.~-]/

/**
 * Returns a path in the form that RFC 3986, 6.2.2 makes equal to it: upper-case digits in what is
 * percent-encoded, nothing encoded that need not be, and no dot segments.
 */
export function normalPath(path: string): string {
  if (!path.includes('%') && !path.includes('/.')) return path
  const decoded = path.replace(ENCODED, (encoded, digits: string) => {
    const letter = String.fromCharCode(parseInt(digits, 16))
    return UNRESERVED.test(letter) ? letter : encoded.toUpperCase()
  })
  return decoded.includes('/.') ? withoutDots(decoded) : decoded
}

/** Removes dot segments: RFC 3986, 5.2.4. */
function withoutDots(path: string): string {
  const segments = path.split('/')
  const kept: string[] = []
  for (const [index, segment] of segments.entries()) {
    const isDots = segment === '.' || segment === '..'
    if (segment === '..' && kept.length > 1) kept.pop()
    if (!isDots) kept.push(segment)
    else if (index === segments.length - 1) kept.push('')
  }
  return kept.join('/')
}

function upTo(mark: string, text: string): string {
  const end = text.indexOf(mark)
  return end === -1 ? text : text.slice(0, end)
}
