/** What the sources log: the fixed text of each line, with `…` for what varies. */
import { parse } from '@babel/parser'
import { methodOf, type Node, nodesIn } from '../mutation/nodes.js'

export type Level = 'info' | 'warn' | 'error'

/** A call that logs. */
export interface LogCall {
  readonly level: Level
  /** Without `wide-cache: `: one for each branch of the text. Empty: the text is made elsewhere. */
  readonly lines: readonly string[]
}

/**
 * What stands for an expression whose text another function makes. `say()` of a guard and `refused`
 * of views begin with what their callers give.
 */
export const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  trouble: ["the clock of this host (…) is … s … the database's"],
  whose: [
    "the database's clock",
    "this process's clock",
    "this host slept, or the database's and this process's clocks",
  ],
  'this.#got': ['record() got', 'a hit has'],
  'PAST[verb]': ['retried', 'dropped'],
  'this.texts.nothing': ['nothing is parked', 'nothing is in quarantine'],
  'this.texts.listed(listed.length)': [
    'only … parked updates and entries are listed',
    'only the oldest … are listed',
  ],
  'this.texts.missing(id)': ['… is not parked', 'quarantine has no frame …'],
  'this.texts.stays(id)': ['… stays as it is', 'frame … is left as it is'],
  'this.texts.done(done, rows, verb)': ['… of what is parked', '… with …'],
  'certificateLine(name, certificate)': ['wide-cache: … of "…" is closed: …'],
  'cacheWarning(cache, withPrivateCache)': [
    'wide-cache: the cache is memory:, private to this process',
  ],
}

const START = 'wide-cache: '
const METHODS: Readonly<Record<string, Level>> = {
  info: 'info',
  recovered: 'info',
  warn: 'warn',
  warnOnce: 'warn',
  warnLasting: 'warn',
  error: 'error',
}
const FUNCTIONS = ['warn', 'warnOnce', 'warnOfFailure']
const LOGGER = /(?:console|log|logger|burst)$/i
/** Constants that are followed to their texts, one in another. */
const DEPTH = 3

/** Returns all nodes of a source, and a function for all texts that an expression may have. */
function read(source: string): { nodes: Node[]; textsOf: (node: Node | undefined) => string[] } {
  const program = parse(source, { sourceType: 'module', plugins: ['typescript'] }).program
  const nodes = [...nodesIn(program as unknown as Node)]
  const constants = nodes.flatMap(({ kind, declarations }) =>
    kind === 'const' ? (declarations ?? []) : [],
  )
  const code = ({ start, end }: Node): string => source.slice(start ?? 0, end ?? 0)

  return { nodes, textsOf }

  function textsOf(node: Node | null | undefined, depth = 0): string[] {
    const inOrder = (...parts: readonly (Node | null | undefined)[]): string[] =>
      parts.reduce<string[]>(
        (before, part) => {
          const after = textsOf(part, depth)
          return before.flatMap((one) => after.map((other) => one + other))
        },
        [''],
      )
    if (!node) return ['…']
    const known = ELSEWHERE[code(node)]
    if (known) return [...known]
    switch (node.type) {
      case 'StringLiteral':
        return [String(node.value)]
      case 'TemplateElement':
        return [(node.value as { cooked: string }).cooked]
      case 'TemplateLiteral': {
        const { quasis = [], expressions = [] } = node
        return inOrder(...quasis.flatMap((quasi, at) => [quasi, ...expressions.slice(at, at + 1)]))
      }
      case 'BinaryExpression':
        return node.operator === '+' ? inOrder(node.left, node.right) : ['…']
      case 'ConditionalExpression':
        return [node.consequent as Node, node.alternate].flatMap((one) => textsOf(one, depth))
      case 'Identifier': {
        const isBefore = ({ id, start }: Node) => id?.name === node.name && start! < node.start!
        const constant = constants.findLast(isBefore)
        return constant && depth < DEPTH ? textsOf(constant.init, depth + 1) : ['…']
      }
      default:
        return ['…']
    }
  }
}

/** Returns all calls of a source that log. */
export function logCallsIn(source: string): LogCall[] {
  const { nodes, textsOf } = read(source)
  return nodes.flatMap((node) => {
    const { type, callee, arguments: given = [] } = node
    if (type !== 'CallExpression' || !callee) return []
    const method = methodOf(node)
    // Of a guard, which puts the beginning before it.
    if (method === 'say') return [{ level: 'warn', lines: textsOf(given[1]) }]
    const isFunction = FUNCTIONS.includes(callee.name ?? '')
    const level = isFunction ? 'warn' : METHODS[method ?? '']
    if (!level) return []
    const lines = given
      .flatMap((one) => textsOf(one))
      .filter((text) => text.startsWith(START))
      .map((text) => text.slice(START.length))
    const { start, end } = callee.object ?? callee
    const isLog = isFunction || LOGGER.test(source.slice(start ?? 0, end ?? 0))
    return isLog || lines.length > 0 ? [{ level, lines }] : []
  })
}

/** Returns the texts that a source gives as `why`: in an object, a field or a getter. */
export function reasonsIn(source: string): string[] {
  const { nodes, textsOf } = read(source)
  const isWhy = (node: Node | undefined): boolean => (node?.id ?? node)?.name === 'why'
  return nodes
    .flatMap((node) => {
      if (node.type === 'AssignmentExpression' && isWhy(node.left?.property)) return [node.right]
      if (!isWhy(node.key)) return []
      if (node.type !== 'ClassMethod') return [node.value as Node]
      return [...nodesIn(node)]
        .filter(({ type }) => type === 'ReturnStatement')
        .map(({ argument }) => argument)
    })
    .flatMap((node) => textsOf(node))
}
