import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Sender } from '../ledger/sender.fixture.js'
import type { FrameLedger } from '../ledger/settle.js'
import { SettledHere } from './settled-here.js'

const frame = new Sender().frame(0)
const settled = { committed: 1, duplicate: 0, quarantined: 0, prefixes: new Map<string, number>() }

for (const [name, settle] of [
  ['commit', (here: SettledHere) => here.commit([frame])],
  ['quarantine', (here: SettledHere) => here.quarantine([frame], 'refused')],
] as const) {
  test(`a frame is remembered once its ${name} has ended, and not if it fails`, async () => {
    let fails = true
    const end = async () => {
      await Promise.resolve()
      if (fails) throw new Error('rolled back')
      return settled
    }
    const ledger: FrameLedger = { nameOf: () => 'test', commit: end, quarantine: end }
    const here = new SettledHere(ledger)
    const failing = settle(here)
    assert.deepEqual(here.unsettled([frame]), [frame], 'while it is under way')
    await assert.rejects(failing, /rolled back/)
    assert.deepEqual(here.unsettled([frame]), [frame], 'after a rollback')
    fails = false
    await settle(here)
    assert.deepEqual(here.unsettled([frame]), [], 'after the commit')
    here.forget([frame])
    assert.deepEqual(here.unsettled([frame]), [frame], 'after its cell')
  })
}
