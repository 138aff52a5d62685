/** The single-page site of the examples, in a browser: what somebody looks at is counted. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { BROWSER } from '../../src/support/http.fixture.js'
import { eventually } from '../../src/support/eventually.fixture.js'
import { complaintsOf } from '../../src/support/browser.fixture.js'
import type { ActivityStats } from '../../src/activity/stats.js'
import { startBrowser } from '../servers/browser.js'
import { hasEnded, removeFolder, temporaryFolder } from '../servers/process.js'

const SERVER = fileURLToPath(new URL('../../examples/single-page/server.js', import.meta.url))

/** Runs the site in an empty folder. */
async function onSite(use: (origin: string) => Promise<void>): Promise<void> {
  const folder = temporaryFolder('single-page')
  const child = spawn(process.execPath, [SERVER], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  try {
    const port = await eventually('it listens', () => /localhost:(\d+)/.exec(output)?.[1])
    await use(`http://127.0.0.1:${port}`)
    child.kill('SIGTERM')
    assert.equal(await ended, 0, 'it ends in order')
  } finally {
    if (!hasEnded(child)) child.kill('SIGKILL')
    await ended
    removeFolder(folder)
  }
}

test('each page that somebody looks at is counted, and the document is sent once', () =>
  onSite(async (origin) => {
    const browser = await startBrowser({ args: [`--user-agent=${BROWSER}`] })
    try {
      const page = await browser.newPage()
      const complaints = complaintsOf(page)
      const documents: string[] = []
      page.on('response', (response) => {
        if (response.request().resourceType() === 'document') documents.push(response.url())
      })
      await page.goto(origin)
      for (const [link, text] of [
        ['Bread', 'Flour'],
        ['Soup', 'Whatever'],
        ['All recipes', 'Bread and'],
      ] as const) {
        await page.click(`text="${link}"`)
        await eventually(link, async () => (await page.textContent('main'))?.startsWith(text))
      }
      await page.evaluate('history.back()')
      await eventually('back', async () => (await page.textContent('main'))?.startsWith('What'))
      const figures = await eventually('all are counted', async () => {
        const response = await fetch(`${origin}/activity`)
        if (!response.ok) return undefined
        const { pageViews, visitors } = (await response.json()) as ActivityStats
        return pageViews >= 5 && { pageViews, visitors }
      })
      assert.deepEqual(figures, { pageViews: 5, visitors: 1 })
      assert.equal(documents.length, 1)
      assert.deepEqual(
        complaints.filter((text) => !text.includes('503')),
        [],
      )
    } finally {
      await browser.close()
    }
  }))
