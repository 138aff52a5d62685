/** A process whose clock is days off gives the figures that others give. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { DAY_MS } from '../../src/support/clock.js'
import { siteWithPast } from './past.js'
import { activity, allAsked, dashboard, hits } from './questions.js'

const past = siteWithPast()
after(async () => (await past).close())

for (const [what, reader] of Object.entries({ activity, hits, dashboard })) {
  const { open } = reader
  for (const days of [-3, 3]) {
    test(`${what}: a process whose clock is ${days} days ahead answers as others do`, async () => {
      const site = await past
      const right = open(site, site.cache())
      site.aheadMs = days * DAY_MS
      const wrong = open(site, site.cache())
      site.aheadMs = 0
      const asked = allAsked(reader)
      // The database says what the time is with its first answer.
      const [first, args] = asked[0]!
      await wrong(first, ...args)
      for (const [read, args] of asked) {
        const question = `${read}(${JSON.stringify(args)})`
        assert.deepEqual(await wrong(read, ...args), await right(read, ...args), question)
      }
    })
  }
}
