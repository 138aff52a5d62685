/** Figures are right at each look, in health and in trouble: see looks.ts. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fewOrMany } from '../scale.js'
import { PlainProcess } from '../simulated-world/plain-process.js'

const plain = new PlainProcess()
after(() => plain.end())

for (let seed = 1; seed <= fewOrMany(6, 100); seed++) {
  test(`figures are right at each look of seed ${seed}`, async () => {
    const looks = await plain.call<number>(new URL('looks.ts', import.meta.url), 'lookedAt', seed)
    assert(looks > 4_000, `${looks} looks`)
  })
}
