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
  for (const show of panels) show(NOTHING)
  say(failure(error))
})
const figures = poll(FIGURES_MS, async () => {
  await ofChoice(
    () => `figures.json?${query(range())}`,
    { missing: () => [past, lists].forEach((panel) => panel.missing()) },
    (answer) => {
      past.show(answer)
      lists.show(answer)
    },
  )
  return areNew('#history', '#tops')
})
const ofItem = poll(FIGURES_MS, async () => {
  if (item()['value'] === undefined || byId('main').dataset['sees'] === 'totals') return
  await ofChoice(() => `item.json?${query({ ...range(), ...item() })}`, one, one.show)
  return areNew('#item')
})
const hits = poll(FIGURES_MS, async () => {
  await ofChoice(() => `hits.json?${query({ ...range(), ...items.asked() })}`, items, items.show)
  return areNew('#hits')
})
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
  for (const show of panels) show(answer)
  say(answer.trouble)
  return areNew('#now')
}

/** Whether all answers had figures, and none is marked as old. @param {readonly string[]} within */
function areNew(...within) {
  return within.every((part) => !document.querySelector(`${part} :is(.old, .missing)`))
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
  } finally {
    say()
  }
}

/** @param {unknown} error */
function failure(error) {
  if (error instanceof AnswerError && error.isSignedOut) {
    return 'You are signed out: sign in and load this page again.'
  }
  return 'The site does not answer: see whether it runs. This page goes on asking.'
}

/** Trouble that the last answer of now has said; `undefined`: none has come. */
let said = /** @type {string | null | undefined} */ (undefined)

/**
 * Changes the line at the top, which screen readers announce, only if there is something new. It is
 * of all that is shown.
 *
 * @param {string | null | undefined} trouble
 */
function say(trouble = said) {
  said = trouble
  if (trouble === undefined) return
  const line = byId('status')
  const isOld = document.querySelector('.old:not([hidden] *, details:not([open]) *)') !== null
  const text = trouble ?? (isOld ? 'Some figures are old. Newer ones are being read.' : 'Live')
  line.className = text === 'Live' ? 'good' : 'bad'
  if (line.textContent !== text) line.textContent = text
}
