import type { Request } from '../../page-views/express.js'

/** Characters of a query that are looked at. */
const MAX_LOOKED_AT = 2_048

const PARAMETERS = ['utm_source', 'utm_medium', 'utm_campaign']

/**
 * A dimension: where a campaign has brought a visit from, by the parameters `utm_source`,
 * `utm_medium` and `utm_campaign` of its address, as in `newsletter/email/spring`. Parts that are
 * missing at the end are left out; none of the three: no value.
 *
 * @example
 * createActivity({ dimensions: { campaign: campaign() } })
 */
export function campaign(): (req: Request) => string | undefined {
  return ({ originalUrl }) => {
    const queryAt = originalUrl.indexOf('?')
    // Nearly every address has none.
    if (queryAt === -1 || !originalUrl.includes('utm_', queryAt)) return undefined
    const query = new URLSearchParams(originalUrl.slice(queryAt + 1, queryAt + 1 + MAX_LOOKED_AT))
    const parts = PARAMETERS.map((name) => query.get(name) ?? '')
    return parts.join('/').replace(/\/+$/, '') || undefined
  }
}
