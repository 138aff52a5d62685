/** The one dimension of the measure of pages that are not there. */
import type { Received } from '../../page-views/handler.js'
import { pageOfTarget } from '../page.js'
import { referringHosts } from './referrer-host.js'

export const GONE = 'gone'

/** Returns a function that tells the address, and the host whose link led there. */
export function goneValueOf(): (req: Received, target: string) => string {
  const hostOf = referringHosts(GONE, {})
  return (req, target) => {
    const host = hostOf(req)
    return host === undefined ? pageOfTarget(target) : `${pageOfTarget(target)} ← ${host}`
  }
}
