/** As much of Babel's nodes and paths as the operators read. */

export interface Node {
  readonly type: string
  readonly start?: number | null
  readonly end?: number | null
  readonly name?: string
  readonly value?: unknown
  readonly operator?: string
  readonly static?: boolean
  readonly kind?: string
  readonly key?: Node
  readonly id?: Node
  readonly init?: Node | null
  readonly left?: Node
  readonly right?: Node
  readonly test?: Node | null
  readonly update?: Node | null
  readonly consequent?: Node | readonly Node[]
  readonly alternate?: Node | null
  readonly expression?: Node
  readonly expressions?: readonly Node[]
  readonly argument?: Node
  readonly arguments?: readonly Node[]
  readonly callee?: Node
  readonly object?: Node
  readonly property?: Node
  readonly params?: readonly Node[]
  readonly body?: Node | readonly Node[]
  readonly block?: Node
  readonly handler?: Node | null
  readonly finalizer?: Node | null
  readonly declarations?: readonly Node[]
  readonly elements?: readonly (Node | null)[]
  readonly quasis?: readonly Node[]
}

export interface Path {
  readonly node: Node
  readonly parentPath?: Path | null
}

/** A part of the text of a source, and what takes its place. */
export interface Change {
  readonly mutator: string
  readonly start: number
  readonly end: number
  readonly replacement: string
}

export function spanOf(node: Node): { start: number; end: number } {
  return { start: node.start ?? 0, end: node.end ?? 0 }
}

export function isFunction(node: Node | undefined): boolean {
  return node !== undefined && /Function|^(?:Class(?:Private)?|Object)Method$/.test(node.type)
}

/** Properties of a node that have no code. */
const NO_CODE = new Set(['loc', 'extra', 'leadingComments', 'innerComments', 'trailingComments'])

function childrenOf(node: Node): Node[] {
  return Object.entries(node)
    .filter(([name]) => !NO_CODE.has(name))
    .flatMap(([, value]) => (Array.isArray(value) ? (value as unknown[]) : [value as unknown]))
    .filter(isNode)
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

/** The node and those within it, in order, but none behind a node that `stopsAt`. */
export function* nodesIn(node: Node, stopsAt = (_: Node): boolean => false): Generator<Node> {
  yield node
  for (const child of childrenOf(node)) {
    if (!stopsAt(child)) yield* nodesIn(child, stopsAt)
  }
}

/** Tells whether the node awaits something itself, not in a function within it. */
export function awaits(node: Node): boolean {
  return [...nodesIn(node, isFunction)].some(
    ({ type, ...rest }) =>
      type === 'AwaitExpression' || (type === 'ForOfStatement' && 'await' in rest && rest.await),
  )
}

/** The nearest node above that is a function. */
export function functionAround({ parentPath }: Path): Path | undefined {
  for (let at = parentPath; at; at = at.parentPath) if (isFunction(at.node)) return at
  return undefined
}

/** Name of the method that is called, as in `database.transaction(…)`. */
export function methodOf({ type, callee }: Node): string | undefined {
  return type === 'CallExpression' && callee?.type === 'MemberExpression'
    ? callee.property?.name
    : undefined
}
