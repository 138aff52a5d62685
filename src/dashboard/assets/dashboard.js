/** Puts the panels together, and asks for their figures. */
import { begin, item, onChange, query, range } from './choice.js'
import { byId } from './dom.js'
import { historyPanel, itemPanel } from './history.js'
import { hitsPanel } from './hits.js'
import { listsPanel } from './lists.js'
import { nowPanel } from './now.js'
import { AnswerError, json, poll } from './poll.js'
import { sentence } from './sentence.js'

const NOW_MS = 5_000
const FIGURES_MS = 60_000

/** Only those have it who may see it. */
const operation = /** @type {HTMLDetailsElement | null} */ (document.getElementById('operation'))
const [past, one, lists, items] = [historyPanel(), itemPanel(), listsPanel(), hitsPanel()]
/** Panels that the same answer fills, so that their figures are of one moment. */
const panels = [nowPanel(), past.now, ...(operation ? [sentence(operation)] : [])]

/** @type {import('./now.js').Answer} */
const NOTHING = { time: '', trouble: null, overview: null, live: null, ledger: null }

begin()
one.begin()
const now = poll(NOW_MS, loadNow, (error) => {
  say(failure(error))
  for (const show of panels) show(NOTHING)
})
const figures = poll(FIGURES_MS, () =>
  ofChoice(
    () => `figures.json?${query(range())}`,
    past,
    (answer) => {
      past.show(answer)
      lists.show(answer)
    },
  ).catch((error) => {
    lists.missing()
    throw error
  }),
)
const ofItem = poll(FIGURES_MS, async () => {
  if (item()['value'] === undefined || byId('main').dataset['sees'] === 'totals') return
  await ofChoice(() => `item.json?${query({ ...range(), ...item() })}`, one, one.show)
})
const hits = poll(FIGURES_MS, () =>
  ofChoice(() => `hits.json?${query({ ...range(), ...items.asked() })}`, items, items.show),
)
if (operation) {
  const { again } = poll(NOW_MS, () => loadOperation(operation))
  operation.addEventListener('toggle', again)
}
let shownRange = JSON.stringify(range())
onChange(() => {
  one.begin()
  ofItem.again()
  if (JSON.stringify(range()) !== shownRange) {
    figures.again()
    hits.again()
  }
  shownRange = JSON.stringify(range())
})

/** @type {(() => Promise<void>) | undefined} */
let showOperation

/** Loads its scripts with its figures, when somebody opens it. @param {HTMLDetailsElement} of */
async function loadOperation({ open }) {
  if (!open) return
  if (!showOperation) {
    const { ledgerPanel, operationPanel } = await import('./operation.js')
    panels.push(ledgerPanel())
    showOperation = operationPanel()
    now.again()
  }
  await showOperation()
}

async function loadNow() {
  const answer = await json('now.json')
  const isNamed = answer.name !== 'activity'
  byId('name').textContent = isNamed ? answer.name : ''
  document.title = isNamed ? `${answer.name} – Activity` : 'Activity'
  byId('main').dataset['sees'] = answer.sees
  say(answer.trouble)
  for (const show of panels) show(answer)
}

/**
 * Shows an answer, unless another one is asked for by then.
 *
 * @param {() => string} url of what is asked for at the moment
 * @param {{ missing: () => void }} panel
 * @param {(answer: any) => void} show
 */
async function ofChoice(url, panel, show) {
  const asked = url()
  try {
    const answer = await json(asked)
    if (url() === asked) show(answer)
  } catch (error) {
    if (url() === asked) panel.missing()
    throw error
  }
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
