/** Reads the parameters of a URL that ask for TLS. No message shows a value. */
import { readFileSync } from 'node:fs'
import { codeOf } from '../../support/errors.js'
import { refusedValue } from '../../support/options.js'
import type { Named, Parameters, TlsLevel, TlsOptions, TlsWords } from './product.js'

/** Value of a `ca` that is no file: the certificates of the system, which are Node's default. */
const SYSTEM = 'system'

/** `ssl-mode`, `ssl_mode` and `sslMode` are one. */
export function plainly(word: string): string {
  return word.toLowerCase().replace(/[-_.]/g, '')
}

/** @throws RangeError naming the parameter whose value is wrong */
export function tlsOf(
  words: TlsWords,
  parameters: Parameters,
  named: Named,
  warning: (what: string) => void,
): TlsOptions | undefined {
  const { mode, files } = words
  const certificates: TlsOptions = {}
  // A certificate asks for TLS, even if its file is missing here.
  let level: TlsLevel = 'none'
  for (const name of ['ca', 'cert', 'key'] as const) {
    const value = parameters.get(files[name])
    if (!value) continue
    level = words.byFile
    const content = contentOf(words, files[name], value, named, warning)
    if (content !== undefined) certificates[name] = content
  }
  level = levelOf(words, parameters.get(mode), named) ?? level
  if (level === 'encrypted' && words.caIsTrust && parameters.get(files.ca)) level = 'trusted'
  switch (level) {
    case 'no try':
      warning(
        `${mode}=${parameters.get(mode)?.toLowerCase()} connects without TLS here. Say ` +
          `${mode}=${wordOf(words, 'encrypted')}, or ${wordOf(words, 'named')}, to encrypt, or ` +
          `${mode}=${wordOf(words, 'none')}`,
      )
      return undefined
    case 'none':
      return undefined
    case 'encrypted':
      return { ...certificates, rejectUnauthorized: false }
    case 'trusted':
      return { ...certificates, ...words.trusted }
    case 'named':
      return { ...certificates, ...words.named }
  }
}

function levelOf(
  { mode, levels }: TlsWords,
  value: string | undefined,
  named: Named,
): TlsLevel | undefined {
  if (value === undefined) return undefined
  const word = Object.keys(levels).find((one) => plainly(one) === plainly(value))
  // The value may be a piece of a password.
  if (word === undefined) {
    throw refusedValue(named(mode), 'another word', Object.keys(levels).join(', '))
  }
  return levels[word]
}

function wordOf({ levels }: TlsWords, level: TlsLevel): string {
  return Object.keys(levels).find((word) => levels[word] === level) ?? ''
}

/**
 * Returns the certificate or key that the parameter holds, or reads the file that it names. Without
 * the file, TLS that verifies uses the system's certificates, and refuses what these do not trust.
 */
function contentOf(
  { refusesMissingFile }: TlsWords,
  parameter: string,
  value: string,
  named: Named,
  warning: (what: string) => void,
): string | undefined {
  if (value.startsWith('-----BEGIN')) return value
  if (value === SYSTEM) return undefined
  try {
    return readFileSync(value, 'utf8')
  } catch (error) {
    const what = `cannot be read (${codeOf(error) ?? 'unknown failure'})`
    if (refusesMissingFile) {
      const allowed = 'the path of a file in PEM format'
      throw refusedValue(named(parameter), `a file that ${what}`, allowed)
    }
    warning(`the file that the URL's parameter ${parameter} names ${what} and is not used`)
    return undefined
  }
}
