/**
 * Mutants: copies of a source file with one small change of meaning each. StrykerJS's instrumenter
 * finds most of them. This file adds two mutators that Stryker does not know: an operator of an SQL
 * statement is changed, and a call that stands as a statement is removed. `semantic.ts` adds those
 * of awaited steps. Left out are the wording of log lines and error messages, and assertions: they
 * check what cannot happen, so no test can miss them.
 */
import { Instrumenter } from '@stryker-mutator/instrumenter'
import { type Change, type Node, type Path, spanOf } from './nodes.js'
import { semanticChanges } from './semantic.js'

export interface Mutant {
  /** Below `src`. */
  readonly file: string
  /** Stryker's name of the change, `Sql`, `StatementRemoval`, or a semantic one. */
  readonly mutator: string
  readonly line: number
  /** Where the change begins, in characters. */
  readonly at: number
  /**
   * The mutated lines before and after the change, with single spaces; long texts are shortened.
   */
  readonly was: string
  readonly is: string
  /** The whole mutated file. */
  readonly text: string
}

/**
 * Changes of the text of an SQL statement, each of which leaves it a statement with as many
 * placeholders.
 */
const SQL_CHANGES: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/ <= /g, ' < '],
  [/ < /g, ' <= '],
  [/ >= /g, ' > '],
  [/ > /g, ' >= '],
  [/(?<=\b(?:WHERE|AND) [\w.]+) = (?=\?|$)/g, ' <> '],
  [/(?<!BETWEEN \S+) AND (?=\S)/g, ' OR '],
  [/ \+ (?=[\w?]|$)/g, ' - '],
  [/ - (?=[\w?]|$)/g, ' + '],
  [/\bMAX\(/g, 'MIN('],
  [/\bSUM\(/g, 'MAX('],
  [/\bCOUNT\(\*\)/g, '(COUNT(*) + 1)'],
  [/\b(?<!NOT )IN \(/g, 'NOT IN ('],
  [/\bIS NULL\b/g, 'IS NOT NULL'],
  [/\bIS NOT NULL\b/g, 'IS NULL'],
  [/(?<=\bORDER BY \w+)(?!\w)/g, ' DESC'],
]
const SQL =
  /\b(?:SELECT|INSERT|UPDATE|DELETE|WHERE|JOIN|FROM|UNION|VALUES|ORDER BY|AND)\b|[=+-] (?:\?|$)/
const LONGEST = 240

/** All mutants of a source, in the order of the text. */
export async function mutantsOf(file: string, source: string): Promise<Mutant[]> {
  const own: Change[] = []
  const semantic: Change[] = []
  const text = (node: Node): string => source.slice(node.start ?? 0, node.end ?? 0)
  // Stryker shows its ignorers every node; so ours also sees what Stryker has no mutator for, and
  // no second parser is needed.
  const shouldIgnore = (path: Path): string | undefined => {
    const { node } = path
    if (node.type === 'ExpressionStatement' && /^assert\b/.test(text(node))) return 'an assertion'
    semantic.push(...semanticChanges(path, source))
    if (node.type === 'ExpressionStatement' && isCall(node.expression)) {
      own.push({ ...spanOf(node), mutator: 'StatementRemoval', replacement: ';' })
    }
    if (node.type !== 'StringLiteral' && node.type !== 'TemplateLiteral') return undefined
    if (SQL.test(text(node))) {
      for (const part of node.quasis ?? [node]) own.push(...sqlChanges(text(part), part.start ?? 0))
      return 'an empty statement is found by any test; an operator is changed instead'
    }
    return text(node).includes(' ') ? 'the wording of a message' : undefined
  }
  const options = {
    ignorers: [{ shouldIgnore }],
    excludedMutations: [],
    plugins: null,
    noHeader: true,
  }
  const { mutants } = await new Instrumenter(SILENT as never).instrument(
    [{ name: file, mutate: true, content: source }],
    options as never,
  )
  const lines = lineStarts(source)
  const strykers = mutants
    .filter(({ statusReason }) => statusReason === undefined)
    .map(({ mutatorName, replacement, location: { start, end } }) => ({
      mutator: mutatorName,
      start: lines[start.line]! + start.column,
      end: lines[end.line]! + end.column,
      replacement,
    }))
  // Of several that are the same, the semantic mutator of the outermost node says most.
  const distinct = new Map(
    [...strykers, ...own, ...semantic.toReversed()].map((change) => [
      `${change.start} ${change.end} ${change.replacement}`,
      change,
    ]),
  )
  return [...distinct.values()]
    .filter(({ start, end, replacement }) => plain(source.slice(start, end)) !== plain(replacement))
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .map((change) => mutantOf(file, source, change, lines))
}

function mutantOf(
  file: string,
  source: string,
  { mutator, start, end, replacement }: Change,
  lines: readonly number[],
): Mutant {
  const line = lines.findLastIndex((at) => at <= start)
  const from = lines[line]!
  const to = lines.find((at) => at > end) ?? source.length
  const text = source.slice(0, start) + replacement + source.slice(end)
  return {
    file,
    mutator,
    line: line + 1,
    at: start,
    text,
    was: shortened(source.slice(from, to)),
    is: shortened(text.slice(from, to + text.length - source.length)),
  }
}

function isCall(node: Node | undefined): boolean {
  if (node?.type === 'AwaitExpression' || node?.type === 'UnaryExpression') {
    return isCall(node.argument)
  }
  return node?.type === 'CallExpression' && node.callee?.type !== 'Super'
}

function sqlChanges(text: string, at: number): Change[] {
  return SQL_CHANGES.flatMap(([pattern, replacement]) =>
    [...text.matchAll(pattern)].map(({ index, 0: found }) => ({
      mutator: 'Sql',
      start: at + index,
      end: at + index + found.length,
      replacement,
    })),
  )
}

function lineStarts(text: string): number[] {
  return [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
}

function plain(text: string): string {
  return text.replace(/[\s;]/g, '')
}

function shortened(text: string): string {
  const spaced = text.trim().replace(/\s+/g, ' ')
  return spaced.length <= LONGEST
    ? spaced
    : `${spaced.slice(0, LONGEST / 2)} … ${spaced.slice(-LONGEST / 2)}`
}

const nothing = (): undefined => undefined
const SILENT = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  isDebugEnabled: () => false,
}
