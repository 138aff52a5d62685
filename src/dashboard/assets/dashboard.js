/** Puts the panels together, and asks for their figures. */
import { byId } from './dom.js'
import { about } from './format.js'
import { gridPanel } from './grid.js'
import { daysPanel, hoursPanel } from './history.js'
import { hitsPanel } from './hits.js'
import { ledgerPanel } from './ledger.js'
import { nowPanel } from './now.js'
import { AnswerError, json, poll } from './poll.js'
import { topsPanel } from './tops.js'

const NOW_MS = 2_000
const SUMS_MS = 60_000
const DAYS_MS = 300_000
const HITS_MS = 30_000

/** How far the server's clock is ahead of the browser's. */
let aheadMs = 0
const serverNow = () => Date.now() + aheadMs

const showNow = nowPanel()
const showGrid = gridPanel()
const showLedger = ledgerPanel()

/** @type {readonly string[]} */
let dimensions = []
let begun = false

poll(NOW_MS, loadNow, (error, waitMs) => say(failure(error, waitMs), 'bad'))

async function loadNow() {
  const figures = await json('now.json')
  aheadMs = Date.parse(figures.time) - Date.now()
  dimensions = figures.dimensions
  byId('name').textContent = figures.name
  document.title = `Activity ${figures.name}`
  say('Live', 'good')
  showNow(figures)
  showGrid(figures.live)
  showLedger(figures)
  if (!begun) begin()
}

/** Asks for all else, once the server's time and the dimensions are known. */
function begin() {
  begun = true
  poll(SUMS_MS, hoursPanel(serverNow))
  poll(DAYS_MS, daysPanel(serverNow))
  const loadTops = topsPanel(serverNow)
  const tops = poll(SUMS_MS, () => loadTops(dimensions))
  byId('range').addEventListener('change', tops.again)
  poll(HITS_MS, hitsPanel())
}

/**
 * @param {unknown} error
 * @param {number} waitMs
 */
function failure(error, waitMs) {
  if (error instanceof AnswerError && error.status === 403) {
    return 'You are signed out. Sign in and load this page again.'
  }
  return `No answer. Next try in about ${about(waitMs / 1000)}.`
}

/**
 * Changes the line at the top, which screen readers announce, only if there is something new.
 *
 * @param {string} text
 * @param {'good' | 'bad'} state
 */
function say(text, state) {
  const line = byId('status')
  line.className = state
  if (line.textContent !== text) line.textContent = text
}
