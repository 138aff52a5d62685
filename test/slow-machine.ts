/** What programs say because the machine is slow. */
const OF_A_SLOW_MACHINE = new RegExp(
  '^wide-cache: .*(?:did not answer within \\d+ ms|no cache server (?:answers|has answered yet)|' +
    'no answer within \\d+ s|collecting "[^"]+" again|' +
    'the database had not been reached before).*\\n',
  'gm',
)

/** What a program has said, without what it says only because the machine is slow. */
export function withoutSlowness(said: string): string {
  return said.replace(OF_A_SLOW_MACHINE, '')
}
