import type { IncomingMessage } from 'node:http'
import { campaignSource } from './campaign.js'
import { readyMade } from './ready-made.js'
import { INTERNAL, type ReferrerHostOptions, referringHosts } from './referrer-host.js'
import { SOURCES } from './sources.js'

/** A kind of place that visits come from. */
export type Source = 'search' | 'social' | 'assistants' | 'mail' | 'internal' | 'other'

const KINDS: ReadonlyMap<string, Source> = new Map(
  Object.entries(SOURCES).flatMap(([kind, names]) =>
    names.split(/\s+/).map((name) => [name, kind as Source] as const),
  ),
)

/**
 * A dimension: the kind of place that a visit comes from: `search`, `social`, `assistants` such as
 * ChatGPT, `mail`, `internal` for the site's own pages, or `other`. `utm_source` of the address
 * decides if the package knows it, else the host of the `Referer`. Each is compared as a whole: an
 * unknown one is `other`, whatever its name contains. Neither of the two: no value.
 *
 * @throws TypeError
 * @example
 * ```js
 * import { createActivity, source } from 'wide-cache'
 *
 * const activity = createActivity({ dimensions: { source: source() } })
 * // …
 * await activity.close()
 * ```
 */
export function source(
  options: ReferrerHostOptions = {},
): (req: IncomingMessage) => Source | undefined {
  const hostOf = referringHosts('source', options)
  return readyMade((req) => {
    const host = hostOf(req)
    // Links within the site may carry the campaign along.
    if (host === INTERNAL) return 'internal'
    const named = campaignSource(req)
    const kind = named ? KINDS.get(named.toLowerCase()) : undefined
    if (kind) return kind
    if (host === undefined) return named ? 'other' : undefined
    // Names without a dot are those of campaigns.
    return (host.includes('.') && KINDS.get(host)) || 'other'
  })
}
