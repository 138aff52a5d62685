import assert from 'node:assert/strict'
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { removeFolder, temporaryFolder } from '../../test/servers/process.js'
import { packageFile } from './package-file.js'

test('a module without the files of the package beside it is refused at its import', async () => {
  assert(existsSync(packageFile('database/sqlite/worker.js')))
  const folder = temporaryFolder('package-file')
  const elsewhere = join(folder, 'package-file.ts')
  copyFileSync(fileURLToPath(new URL('package-file.ts', import.meta.url)), elsewhere)
  await assert.rejects(import(pathToFileURL(elsewhere).href), { code: 'ERR_WIDE_CACHE_BUNDLED' })
  removeFolder(folder)
})
