/** Puts the panels together, and asks for their figures. */
import { byId } from './dom.js'
import { gridPanel } from './grid.js'
import { daysPanel, hoursPanel } from './history.js'
import { hitsPanel } from './hits.js'
import { ledgerPanel } from './ledger.js'
import { nowPanel } from './now.js'
import { AnswerError, json, poll } from './poll.js'
import { topsPanel } from './tops.js'

const NOW_MS = 2_000
const SUMS_MS = 60_000
const HITS_MS = 30_000

/** How far the server's clock is ahead of the browser's. */
let aheadMs = 0
const serverNow = () => Date.now() + aheadMs

const hours = hoursPanel(serverNow)
const days = daysPanel(serverNow)
/** Panels that the same answer fills, so that their figures are of one moment. */
const panels = [nowPanel(), hours.show, days.show, gridPanel(), ledgerPanel()]

/** @type {import('./now.js').Answer} */
const NOTHING = { time: '', trouble: null, overview: null, live: null, ledger: null }

/** @type {readonly string[]} */
let dimensions = []
let begun = false

poll(NOW_MS, loadNow, (error) => {
  say(failure(error))
  for (const show of panels) show(NOTHING)
})

async function loadNow() {
  const answer = await json('now.json')
  aheadMs = Date.parse(answer.time) - Date.now()
  dimensions = answer.dimensions
  byId('name').textContent = answer.name
  document.title = `Activity ${answer.name}`
  say(answer.trouble)
  for (const show of panels) show(answer)
  if (!begun) begin()
}

/** Asks for all else, once the server's time and the dimensions are known. */
function begin() {
  begun = true
  poll(SUMS_MS, hours.load)
  poll(SUMS_MS, days.load)
  const loadTops = topsPanel(serverNow)
  const tops = poll(SUMS_MS, () => loadTops(dimensions))
  byId('range').addEventListener('change', tops.again)
  poll(HITS_MS, hitsPanel())
}

/** @param {unknown} error */
function failure(error) {
  if (error instanceof AnswerError && error.isSignedOut) {
    return 'You are signed out: sign in and load this page again.'
  }
  return 'The site does not answer: see whether it runs. This page goes on asking.'
}

/**
 * Changes the line at the top, which screen readers announce, only if there is something new.
 *
 * @param {string | null} trouble
 */
function say(trouble) {
  const line = byId('status')
  const text = trouble ?? 'Live'
  line.className = trouble === null ? 'good' : 'bad'
  if (line.textContent !== text) line.textContent = text
}
