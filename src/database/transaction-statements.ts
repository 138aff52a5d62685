/**
 * Refuses the statements that may end a transaction. In MySQL most of these commit implicitly, and
 * drop the locks that the rest of the work relies on.
 */
import { DatabaseError } from './database.js'

const SPACE_OR_COMMENT = String.raw`(?:\s|--(?=\s)[^\n]*|#[^\n]*|/\*(?!M?!)[^]*?\*/)*`
const ALLOWED = new RegExp(
  `^${SPACE_OR_COMMENT}(?:` +
    String.raw`(?:(?:\(${SPACE_OR_COMMENT})*(?:SELECT|WITH)` +
    String.raw`|INSERT|UPDATE|DELETE|REPLACE|LOAD\s+DATA)\b|(SET)\s*@)`,
  'i',
)
/** Quoted text, names and plain comments. */
const NOT_CODE =
  /'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*"|`[^`]*`|--(?=\s)[^\n]*|#[^\n]*|\/\*(?!M?!)[^]*?\*\//g
const IN_PARENTHESES = /\([^()]*\)/g
const EXECUTABLE_COMMENT = 'An executable comment'

/**
 * Checks that a statement leaves its transaction open.
 *
 * @throws DatabaseError `DATABASE_STATEMENT_REFUSED`
 */
export function refuseWhatEnds(sql: string): void {
  const [beginning, set] = ALLOWED.exec(sql) ?? []
  if (beginning === undefined) throw refused(keywordOf(sql))
  if (set !== undefined && !setsOnlyUserVariables(sql)) throw refused('SET of a system variable')
  // Looked for only where one can be: this is the statement of 500 rows, too.
  if ((sql.includes('/*!') || sql.includes('/*M!')) && /\/\*M?!/.test(sql.replace(NOT_CODE, ' '))) {
    throw refused(EXECUTABLE_COMMENT)
  }
}

/** `SET @a = 1, @b = 2`; but `SET @a = 1, autocommit = 1` sets a system variable. */
function setsOnlyUserVariables(sql: string): boolean {
  let code = sql.replace(NOT_CODE, (text) => (/^[-#/]/.test(text) ? ' ' : 'x'))
  for (let before = ''; before !== code;) {
    before = code
    code = code.replace(IN_PARENTHESES, 'x')
  }
  return code
    .replace(/^\s*SET/i, '')
    .split(',')
    .every((assignment) => /^\s*@[^@]/.test(assignment))
}

/** Names the statement without showing more of it: the rest may hold values. */
function keywordOf(sql: string): string {
  const code = sql.replace(NOT_CODE, ' ').trimStart()
  const [word = ''] = /^[A-Z]{1,20}/i.exec(code) ?? []
  if (word !== '') return `A statement that begins with ${word.toUpperCase()}`
  return code.startsWith('/*') ? EXECUTABLE_COMMENT : 'A statement that begins with no word'
}

function refused(what: string): DatabaseError {
  const message =
    `${what} would end the transaction or might do so, and drop its locks; it has not been ` +
    'sent, and the transaction is rolled back. ' +
    'In a transaction, these are allowed: SELECT, INSERT, UPDATE, DELETE, REPLACE, WITH, ' +
    'LOAD DATA, and SET of variables whose names begin with one @. ' +
    'Run anything else before the transaction, on the database itself'
  return new DatabaseError('DATABASE_STATEMENT_REFUSED', 'usage', message)
}
