/** Certificates as text, for the log and for `wide-cache certificate`. */
import { counted } from '../support/printable.js'
import type { ActivityCertificate } from './certificate.js'

/** The certificate as one line of the log. */
export function certificateLine(name: string, certificate: ActivityCertificate): string {
  const { day, pageViews, visitors, late, ledger, findings } = certificate
  const rows = ledger
    ? Object.entries(ledger)
        .map(([field, n]) => `${field} ${n}`)
        .join(', ')
    : 'none'
  return (
    `wide-cache: ${day} of "${name}" is closed: ${counted(pageViews, 'page view')}, ` +
    `${counted(visitors ?? 0, 'visitor')}, ${late} late; ledger: ${rows}; ` +
    `${recountsLine(certificate)}; ` +
    (findings.length === 0 ? 'the books balance' : `it does not balance: ${findings.join('; ')}`)
  )
}

/** Results of recounts. */
export function recountsLine({ keep, hours }: ActivityCertificate): string {
  if (hours !== null) return `${counted(hours, 'hour')} recounted and equal`
  return keep === 'sums' ? 'nothing to recount, only sums are kept' : 'no hour recounted'
}
