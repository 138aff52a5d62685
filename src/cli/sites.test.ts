import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sitesTable } from './sites.js'

const OLDER = Array<number>(16).fill(1_000)
const SITE = { name: 'shop', zone: 'UTC', now: 1_234, week: 56_789, before: 1, change: 0.126 }

test('a site has its last 14 days as bars, from the least to the most of them', () => {
  const days = [...OLDER, null, null, 0, 1, 2, 3, 4, 5, 6, 7, 7, 0, null, 7]
  const unknown = { week: null, before: null, change: null, days: [...OLDER, ...Array(14).fill(0)] }
  assert.deepEqual(
    sitesTable([
      { ...SITE, days },
      { ...SITE, name: 'blog', change: -0.5, days: days.slice(0, -7) },
      { ...SITE, name: 'new', now: 0, ...unknown },
    ]).split('\n'),
    [
      'SITE  10 MINUTES  7 DAYS  CHANGE  14 DAYS',
      'shop       1,234  56,789   +13 %    ▁▂▃▄▅▆▇██▁ █',
      'blog       1,234  56,789   -50 %  ███████  ▁▂▂▂▂',
      'new            0                  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁',
      '',
    ],
  )
})
