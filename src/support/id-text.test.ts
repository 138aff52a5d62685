import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validate, version } from 'uuid'
import { systemEnvironment } from './environment.js'
import { idText } from './id-text.js'

test('ids are UUIDs of version 7 that grow, and their text has all their digits', () => {
  const ids = Array.from({ length: 1_000 }, () => systemEnvironment.newId())
  for (const [index, id] of ids.entries()) {
    const text = idText(id)
    assert(validate(text) && version(text) === 7, text)
    assert.equal(text.replaceAll('-', ''), id.toString('hex'))
    if (index > 0) assert(Buffer.compare(ids[index - 1]!, id) < 0, 'a later id is larger')
  }
})
