/** Puts the parts together, and asks for their figures. */
import {
  asked,
  go,
  isOperation,
  item,
  metric,
  NO_ITEM,
  onChange,
  onClick,
  query,
} from './choice.js'
import { byId, keyed } from './dom.js'
import { figuresView } from './figures.js'
import { setZone, zoneName } from './format.js'
import { beginHeader, showAge, showHeader, showSteps } from './header.js'
import { closeMenu } from './menu.js'
import { AnswerError, json, poll } from './poll.js'
import { styles } from './styles.js'
import { hideTip } from './tips.js'

const NOW_MS = 5_000
const FIGURES_MS = 60_000

/** @typedef {Awaited<ReturnType<typeof loadOperationView>>} OperationView */

const main = byId('main')
/** Only those have it who may see it. */
const operationLink = document.getElementById('operation')
const figures = figuresView()
/** @type {OperationView | undefined} */
let operation
/** @type {any} */
let lastNow

beginHeader()
main.append(figures.element)
main.classList.add('first')
main.setAttribute('aria-busy', 'true')

poll(NOW_MS, loadNow, (error) => {
  const isSignedOut = error instanceof AnswerError && error.isSignedOut
  tell(
    isSignedOut
      ? 'You are signed out: sign in and load this page again.'
      : 'The site does not answer: see whether it runs. This page goes on asking.',
  )
})
const all = poll(FIGURES_MS, () =>
  ofChoice(
    () => (isOperation() ? '' : `figures.json?${query(asked())}`),
    (answer) => {
      setZone(answer.span.zone)
      figures.show(answer)
      showSteps(answer.span)
      main.classList.remove('first')
    },
  ),
)
const ofItem = poll(FIGURES_MS, () =>
  ofChoice(
    () => {
      return item()['value'] !== undefined && !isOperation()
        ? `item.json?${query({ ...asked(), ...item() })}`
        : ''
    },
    (answer) => figures.showItem(answer),
  ),
)
const today = poll(FIGURES_MS, () =>
  ofChoice(
    () => (metric() === 'now' && !isOperation() ? 'shown.json?range=today' : ''),
    ({ span, figures: periods, asOf, stale }) =>
      figures.showToday({
        span,
        sums: { asOf, stale, figures: periods },
        before: periods.map((/** @type {any} */ one) => one.before),
        firstDay: null,
      }),
  ),
)
const ofOperation = poll(NOW_MS, async () => {
  if (!isOperation()) return true
  operation ??= await loadOperationView()
  if (lastNow) operation.showNow(lastNow)
  if (!isOperation()) return true
  if (!main.contains(operation.element)) {
    main.replaceChildren(operation.element)
    operation.heading.focus()
  }
  await operation.load()
  main.removeAttribute('aria-busy')
  return true
})

/** What the page showed before: a change asks only for what is another. */
let before = choice()
showView()
onChange(() => {
  const here = choice()
  const last = before
  before = here
  hideTip()
  showHeader()
  showView()
  figures.changed()
  if (here.isOperation) return ofOperation.again()
  if (last.isOperation) figures.heading.focus()
  const isOther = here.range !== last.range || last.isOperation
  if (isOther) all.again()
  if (here.item !== last.item || isOther) ofItem.again()
  if (here.metric !== last.metric || last.isOperation) today.again()
  const isItem = here.item !== last.item && here.item !== ''
  if (isOther || isItem) main.setAttribute('aria-busy', 'true')
  if (here.item !== last.item) focusItem(here.item, last.item)
})

/**
 * The focus goes to the value that is opened, and back to its row.
 *
 * @param {string} to
 * @param {string} from
 */
function focusItem(to, from) {
  if (to) {
    scrollTo(0, 0)
    figures.heading.focus({ preventScroll: true })
  } else (keyed(figures.lists, from) ?? figures.heading).focus()
}

async function loadOperationView() {
  const [{ operationView }] = await Promise.all([import('./operation.js'), styles()])
  return operationView(zoneName())
}

function choice() {
  return {
    range: query(asked()),
    item: query(item()),
    metric: metric(),
    isOperation: isOperation(),
  }
}

/** Shows the figures, or the operation as soon as its scripts are there. */
function showView() {
  const isOther = isOperation()
  if (operationLink) {
    operationLink.textContent = isOther ? 'Figures' : 'Operation'
    operationLink.dataset['view'] = isOther ? 'operation' : 'figures'
    operationLink.classList.remove('wrong')
    operationLink.setAttribute('href', isOther ? '?' : '?view=operation')
  }
  byId('skip').hidden = isOther
  if (!isOther && !main.contains(figures.element)) main.replaceChildren(figures.element)
  if (lastNow) showNow(lastNow)
}

async function loadNow() {
  const answer = await json('now.json')
  const isNamed = answer.name !== 'activity'
  byId('name').textContent = isNamed ? answer.name : 'Activity'
  const title = isOperation() ? 'Operation' : (figures.heading.textContent ?? '')
  document.title = `${title || 'Activity'} – ${isNamed ? answer.name : 'Activity'}`
  main.dataset['sees'] = answer.sees
  // The first view is over.
  if (lastNow) void loadAlarm().catch(() => undefined)
  lastNow = answer
  showNow(answer)
  return answer.overview?.stale === false
}

/** @param {any} answer */
function showNow(answer) {
  figures.showNow(answer)
  operation?.showNow(answer)
  const { time, overview, trouble, ledger } = answer
  if (overview) main.dataset['asOf'] = overview.asOf
  const age = overview ? (Date.parse(time) - Date.parse(overview.asOf)) / 1_000 : undefined
  tell(trouble, answer.sees === 'allowed' ? ledger : undefined, Math.max(0, age ?? NaN))
}

/**
 * @param {string | null} trouble
 * @param {Readonly<Record<string, number>> | null} [ledger]
 * @param {number} [age]
 */
function tell(trouble, ledger, age) {
  showAge(trouble, Number.isNaN(age) ? undefined : age)
  void alarm(trouble, ledger)
}

/** What says what is wrong: it may not come any more when something is. */
const loadAlarm = () => Promise.all([import('./alarm.js'), styles()])

/** @param {string | null} trouble @param {Readonly<Record<string, number>> | null} [ledger] */
async function alarm(trouble, ledger) {
  const place = byId('alarm')
  if (!trouble && !ledger?.['quarantined'] && place.hidden) return
  try {
    const [{ showAlarm }] = await loadAlarm()
    showAlarm(trouble, ledger)
  } catch {
    // The server may be gone with its scripts.
    place.hidden = false
    place.textContent = trouble
  }
}

/**
 * Shows an answer, unless another one is asked for by then.
 *
 * @param {() => string} url of what is asked for at the moment; empty: nothing
 * @param {(answer: any) => void} show
 */
async function ofChoice(url, show) {
  const to = url()
  if (to === '') return true
  const answer = await json(to)
  if (url() !== to) return true
  show(answer)
  main.removeAttribute('aria-busy')
  return areNew(answer)
}

/** Whether all figures of an answer are there, and none is old. @param {any} answer */
function areNew({ sums, lists = [] }) {
  const dated = [sums, ...lists.map((/** @type {any} */ one) => one.top)]
  return dated.every((one) => one === undefined || one?.stale === false)
}

if (operationLink) {
  onClick(operationLink, () => go({ view: isOperation() ? undefined : 'operation' }))
}
byId('skip').addEventListener('click', (event) => {
  event.preventDefault()
  figures.lists.focus()
})
document.addEventListener('keydown', ({ key, target }) => {
  if (key !== 'Escape') return
  const isField = target instanceof HTMLInputElement && target.type === 'search'
  hideTip()
  if (!closeMenu() && !isField && item()['value'] !== undefined) go(NO_ITEM)
})
