import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { createActivity } from '../activity/site-activity.js'
import { SILENT } from '../support/logger.js'
import { printCertificate } from './certificate.js'

const folder = temporaryFolder('certificate')
after(() => removeFolder(folder))

test('without a day it is of the day that the zone of the site has now', async () => {
  // In half of a day one of them has another date than UTC, in the rest of it the other one.
  for (const timeZone of ['Pacific/Kiritimati', 'Etc/GMT+12']) {
    const database = `sqlite:${join(folder, `${timeZone.replace('/', '-')}.db`)}`
    const activity = createActivity({ database, cache: 'memory:', collect: false, timeZone })
    activity.record({ page: '/' })
    await activity.close()
    let text = ''
    const out = new Writable({ write: (chunk, _, done) => ((text += String(chunk)), done()) })
    const dateThere = () => new Date().toLocaleDateString('sv', { timeZone })
    const before = dateThere()
    await printCertificate({ database, name: undefined, day: undefined, json: true }, SILENT, out)
    const { day } = JSON.parse(text) as { day: string }
    assert([before, dateThere()].includes(day), `${day} in ${timeZone}`)
  }
})
