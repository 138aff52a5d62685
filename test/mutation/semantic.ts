/**
 * Mutants that know what goes wrong where processes meet: two awaited steps in the wrong order, a
 * promise that nothing awaits, a statement outside its transaction, a state that is not asked for
 * again under the lock. A test that only calls the code finds few of them.
 */
import {
  awaits,
  type Change,
  functionAround,
  isFunction,
  methodOf,
  type Node,
  nodesIn,
  type Path,
  spanOf,
} from './nodes.js'

/** Mutators, and what each does. */
export const SEMANTIC_MUTATORS = {
  AwaitSwap: 'two awaited statements in the wrong order',
  OrderSwap: 'a state is read or set on the other side of an awaited statement',
  AwaitRemoval: 'nothing waits for a promise',
  NoTransaction: 'the statements of a transaction run one by one',
  OutsideTransaction: 'a statement runs beside its transaction',
  SecondLook: 'no early return after an await: the state is not looked at again',
  LoopOnce: 'a loop around an await runs once',
  Merge: 'an upsert replaces where it merged, or the other way round',
  ResetLost: 'a statement after an error, or at the end of a try, does not run',
  StateLost: 'a field of an object keeps its old value',
  ErrorSwallowed: 'an error is not thrown again',
  Unshared: 'a promise or value in use is replaced by a new one',
  LockLost: 'a SELECT does not lock its rows',
  KeyPart: 'a key leaves out one of the values that it is made of',
  LocalTime: 'a moment is read in the time zone of the machine',
} as const

export type SemanticMutator = keyof typeof SEMANTIC_MUTATORS

export function isSemantic({ mutator }: { readonly mutator: string }): boolean {
  return mutator in SEMANTIC_MUTATORS
}

/** Returns the changes at one node; the caller shows every node of a source. */
export function semanticChanges(path: Path, source: string): Change[] {
  return OPERATORS.flatMap((operator) => operator(path, source))
}

type Operator = (path: Path, source: string) => Change[]

const OPERATORS: readonly Operator[] = [
  swaps,
  awaitRemovals,
  noTransaction,
  outsideTransaction,
  secondLook,
  loopOnce,
  merge,
  stateLost,
  resetsLost,
  unshared,
  lockLost,
  keyParts,
  localTime,
]

function change(mutator: SemanticMutator, node: Node, replacement: string): Change {
  return { mutator, ...spanOf(node), replacement }
}

function textOf(node: Node, source: string): string {
  return source.slice(node.start ?? 0, node.end ?? 0)
}

/** The statements of a block, or none. */
function statementsOf({ type, body, consequent }: Node): readonly Node[] {
  const statements = type === 'SwitchCase' ? consequent : body
  const holdsSome = ['BlockStatement', 'Program', 'StaticBlock', 'SwitchCase'].includes(type)
  return holdsSome && Array.isArray(statements) ? (statements as readonly Node[]) : []
}

/** Neighbours of which at least one awaits something, each in the other's place. */
function swaps({ node }: Path, source: string): Change[] {
  const statements = statementsOf(node)
  return statements.slice(1).flatMap((second, i) => {
    const first = statements[i]!
    const awaited = [first, second].filter(awaits).length
    if (awaited === 0 || ![first, second].every((one) => acts(one, source))) return []
    if (declares(first).some((name) => uses(second, name))) return []
    const { start, end } = { start: spanOf(first).start, end: spanOf(second).end }
    const between = source.slice(spanOf(first).end, spanOf(second).start)
    const replacement = textOf(second, source) + between + textOf(first, source)
    return [{ mutator: awaited === 2 ? 'AwaitSwap' : 'OrderSwap', start, end, replacement }]
  })
}

/** Tells whether it matters when a statement runs, and whether it can run elsewhere. */
function acts(node: Node, source: string): boolean {
  const text = textOf(node, source)
  if (/^(?:[([`]|assert\b)/.test(text)) return false
  switch (node.type) {
    case 'ExpressionStatement':
    case 'IfStatement':
      return true
    case 'VariableDeclaration':
      return awaits(node) || /\bthis\.|\b(?:now|elapsed)\(/.test(text)
    default:
      return /^(?:For|While|DoWhile|Try)/.test(node.type) && awaits(node)
  }
}

function declares(node: Node): string[] {
  return (node.declarations ?? []).flatMap(({ id }) =>
    id ? [...nodesIn(id)].flatMap(({ type, name }) => (type === 'Identifier' ? [name!] : [])) : [],
  )
}

function uses(node: Node, wanted: string): boolean {
  return [...nodesIn(node)].some(({ type, name }) => type === 'Identifier' && name === wanted)
}

/**
 * Only where the code goes on without the value: an `await` for a value is found by any test. Not
 * for a statement of a transaction, which runs them in the order in which they are sent, waits for
 * all, and fails with the first that fails.
 */
function awaitRemovals(path: Path): Change[] {
  const { node } = path
  if (node.type !== 'AwaitExpression') return []
  const [start, parent] = [spanOf(node).start, path.parentPath?.node]
  const [keyword, blank] = [start + 'await'.length, start + 'await '.length]
  const mutator = 'AwaitRemoval'
  if (parent?.type === 'ExpressionStatement') {
    const isOfTransaction =
      methodOf(node.argument!) === 'query' && isTx(node.argument!.callee!.object!)
    if (isOfTransaction) return []
    return [{ mutator, start, end: keyword, replacement: 'void' }]
  }
  const asked = parent?.test === node || parent?.operator === '!'
  const returned = parent?.type === 'ReturnStatement' && isInTry(path)
  return asked || returned ? [{ mutator, start, end: blank, replacement: '' }] : []
}

function isInTry(path: Path): boolean {
  for (let at: Path | null | undefined = path; at && !isFunction(at.node); at = at.parentPath) {
    const above = at.parentPath?.node
    if (above?.type === 'TryStatement' && at.node !== above.finalizer) return true
  }
  return false
}

/** `Promise.resolve(database).then(work)` hands on the database as if it were the transaction. */
function noTransaction({ node }: Path, source: string): Change[] {
  if (methodOf(node) !== 'transaction' || node.arguments?.length !== 1) return []
  const database = textOf(node.callee!.object!, source)
  const work = textOf(node.arguments[0]!, source)
  return [change('NoTransaction', node, `Promise.resolve(${database}).then(${work})`)]
}

/** `tx.query(…)` and `work(tx)`, where a database is in reach to take the place of `tx`. */
function outsideTransaction(path: Path, source: string): Change[] {
  const { node } = path
  if (node.type !== 'CallExpression') return []
  const places = [
    ...(methodOf(node) === 'query' ? [node.callee!.object!] : []),
    ...(node.arguments ?? []),
  ].filter(isTx)
  if (places.length === 0) return []
  const database = databaseInReach(path, source)
  if (database === undefined) return []
  return places.map((place) => change('OutsideTransaction', place, database))
}

function isTx({ type, name }: Node): boolean {
  return type === 'Identifier' && name === 'tx'
}

function databaseInReach(path: Path, source: string): string | undefined {
  let at = functionAround(path)
  while (at && !at.node.params?.some(({ name }) => name === 'tx')) at = functionAround(at)
  if (!at) return undefined
  const call = at.parentPath?.node
  if (call && methodOf(call) === 'transaction') return textOf(call.callee!.object!, source)
  if (at.node.params!.some(({ name }) => name === 'database')) return 'database'
  const isMethod = /^Class(?:Private)?Method$/.test(at.node.type) && !at.node.static
  return isMethod && /^ +readonly #database\b/m.test(source) ? 'this.#database' : undefined
}

/** An early exit behind an `await` of the same function asks what has happened meanwhile. */
function secondLook(path: Path): Change[] {
  const { type, test, alternate, consequent } = path.node
  if (type !== 'IfStatement' || !test || alternate) return []
  const first = (consequent as Node).type === 'BlockStatement' ? (consequent as Node).body : 0
  const exit = Array.isArray(first) ? (first as Node[])[0] : (consequent as Node)
  if (!exit || !/^(?:Return|Continue|Break)/.test(exit.type)) return []
  const around = functionAround(path)?.node
  if (!around) return []
  const began = spanOf(path.node).start
  const isBehindAwait = [...nodesIn(around.body as Node, isFunction)].some(
    (node) => node.type === 'AwaitExpression' && spanOf(node).start < began,
  )
  const isUnderLock = around.params?.some(({ name }) => name === 'tx') ?? false
  return isBehindAwait || isUnderLock ? [change('SecondLook', test, 'false')] : []
}

function loopOnce({ node }: Path, source: string): Change[] {
  if (!/^(?:While|DoWhile|For)Statement$/.test(node.type) || !awaits(node)) return []
  const leaves = [...nodesIn(node.body as Node)].some(({ type }) => /^(?:Break|Cont)/.test(type))
  if (leaves) return []
  const body = textOf(node.body as Node, source)
  if (node.type === 'WhileStatement') {
    return [change('LoopOnce', node, `if (${textOf(node.test!, source)}) ${body}`)]
  }
  const isEndless = !node.init && !node.test && !node.update
  return node.type === 'DoWhileStatement' || isEndless ? [change('LoopOnce', node, body)] : []
}

/** How a column of a row that is there already gets its value: `['views', 'add']`. */
function merge({ node }: Path, source: string): Change[] {
  const [column, value, ...more] = node.type === 'ArrayExpression' ? (node.elements ?? []) : []
  if (!column || value?.type !== 'StringLiteral' || more.length > 0) return []
  if (!/\btable\(/.test(source)) return []
  switch (value.value) {
    case 'greatest':
    case 'least':
    case 'add':
    case 'or':
      return [change('Merge', value, `'replace'`)]
    case 'replace':
      return [change('Merge', node, textOf(column, source))]
    default:
      return []
  }
}

/** A constructor that leaves a field unset is found by any test. */
function stateLost(path: Path): Change[] {
  const { type, expression } = path.node
  if (type !== 'ExpressionStatement' || expression?.type !== 'AssignmentExpression') return []
  const isField = expression.left?.object?.type === 'ThisExpression'
  const isConstructor = functionAround(path)?.node.kind === 'constructor'
  return isField && !isConstructor ? [change('StateLost', path.node, ';')] : []
}

function resetsLost({ node }: Path): Change[] {
  const blocks = [
    ...(node.type === 'TryStatement' ? [node.handler?.body as Node, node.finalizer] : []),
    ...(['catch', 'finally'].includes(methodOf(node) ?? '') ? (node.arguments ?? []) : [])
      .filter(isFunction)
      .map(({ body }) => body as Node),
  ].filter((block) => block !== undefined && block !== null)
  return blocks.flatMap((block) =>
    block.type === 'BlockStatement'
      ? [...nodesIn(block, isFunction)].flatMap(lostStatement)
      : /^(?:Assignment|Call|Unary)/.test(block.type)
        ? [change('ResetLost', block, 'undefined')]
        : [],
  )
}

function lostStatement(node: Node): Change[] {
  if (node.type === 'ThrowStatement') return [change('ErrorSwallowed', node, ';')]
  return node.type === 'ExpressionStatement' ? [change('ResetLost', node, ';')] : []
}

function unshared({ node }: Path, source: string): Change[] {
  if (node.type !== 'AssignmentExpression' || node.operator !== '??=') return []
  const { start } = spanOf(node)
  const at = source.indexOf('??=', spanOf(node.left!).end)
  return at < start ? [] : [{ mutator: 'Unshared', start: at, end: at + 3, replacement: '=' }]
}

/** In the text of a statement, or an argument. */
function lockLost({ node }: Path): Change[] {
  return [node, ...(node.expressions ?? [])]
    .filter(({ callee }) => ['forUpdate', 'skipLocked'].includes(callee?.name ?? ''))
    .map((clause) => change('LockLost', clause, `''`))
}

/** A text of several values without a space, such as a cache's key, or several values as one. */
function keyParts({ node }: Path, source: string): Change[] {
  const parts = (node.type === 'TemplateLiteral' ? node.expressions : undefined) ?? []
  if (parts.length > 1 && !/ (?![^{}]*\})/.test(textOf(node, source))) {
    return parts.map((part) => {
      const { start, end } = spanOf(part)
      return { mutator: 'KeyPart', start: start - '${'.length, end: end + 1, replacement: '' }
    })
  }
  const joined = methodOf(node) === 'join' ? node.callee!.object! : undefined
  const written = methodOf(node) === 'stringify' ? node.arguments?.[0] : undefined
  const values = (joined ?? written)?.elements ?? []
  if (values.length < 2) return []
  return values.flatMap((value) => (value ? [change('KeyPart', value, `''`)] : []))
}

function localTime({ node }: Path): Change[] {
  const { property } = node.type === 'MemberExpression' ? node : { property: undefined }
  const [, verb, part] = /^([gs]et)UTC(\w+)$/.exec(property?.name ?? '') ?? []
  if (property && verb) return [change('LocalTime', property, `${verb}${part}`)]
  const isZone = node.type === 'ObjectProperty' && /^time[zZ]one$/.test(node.key?.name ?? '')
  return isZone ? [change('LocalTime', node, '...{}')] : []
}
