import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingsIn } from './cache.js'

const NOW = 1_800_000_000_500
const HEALTHY = {
  version: '1.6.41',
  time: '1800000000',
  bytes: '1000',
  limit_maxbytes: '67108864',
  evictions: '0',
  'settings:item_size_max': '1048576',
  'settings:memory_file': '(null)',
}

/** Returns the findings for a server that is healthy but for `change`. */
function found(change: Readonly<Record<string, string>>): string[] {
  const stats = new Map(Object.entries({ ...HEALTHY, ...change }))
  return findingsIn(stats, 'a:1', NOW, NOW + 5).map(
    ({ severity, cause }) => `${severity}: ${cause}`,
  )
}

test('a healthy server is fine, and each fault of one is a warning', () => {
  assert.deepEqual(found({}), ['ok: memcached 1.6.41 at a:1, 1 KiB of 64 MiB used, no evictions'])
  const faults: [change: Readonly<Record<string, string>>, said: RegExp][] = [
    [{ version: '1.2.8' }, /^warning: memcached a:1 has version 1\.2\.8, older than/],
    [
      { 'settings:item_size_max': '65536' },
      /^warning: memcached a:1 takes items of 64 KiB at most/,
    ],
    [
      { 'settings:memory_file': '/pmem/cache' },
      /^warning: memcached a:1 keeps its memory in the file \/pmem\/cache; started with an old/,
    ],
    [{ evictions: '5' }, /^warning: memcached a:1 has evicted 5 items .*\(1 KiB of 64 MiB used\)/],
    [{ bytes: '66000000' }, /^warning: memcached a:1 is nearly full \(63 MiB of 64 MiB used\)/],
    [{ time: '1799999900' }, /^warning: the clock of memcached a:1 is 99\.5 s behind this/],
    [{ time: '1800000100' }, /^warning: the clock of memcached a:1 is 99\.5 s ahead of this/],
  ]
  for (const [change, said] of faults) {
    const [finding = '', ...others] = found(change)
    assert.match(finding, said)
    assert.deepEqual(others, [])
  }
  assert.deepEqual(found({ time: '1800000009' }).length, 1)
})
