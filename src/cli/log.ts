/**
 * Logs of the commands on stderr: lines of text for people, or, with `--log json`, one object per
 * line for programs.
 */
import type { Clock } from '../support/clock.js'
import type { Logger } from '../support/logger.js'
import { printable, printableJson } from '../support/printable.js'

export const LOG_FORMATS = ['text', 'json'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/** Fields of a line beside its message, for programs. */
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** A {@link Logger} whose lines may have fields. */
export interface CommandLog extends Logger {
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
}

/** A log that knows the message of its last line. @param write takes a line without its end */
export function commandLog(
  format: LogFormat,
  write: (line: string) => void,
  clock: Clock,
): CommandLog & { readonly last: string } {
  let last = ''
  const say =
    (level: keyof Logger) =>
    (message: string, fields: Fields = {}): void => {
      last = message
      write(format === 'text' ? asText(message) : asJson(clock, level, message, fields))
    }
  return {
    info: say('info'),
    warn: say('warn'),
    error: say('error'),
    get last() {
      return last
    },
  }
}

/** One line, whatever a server has put into the message. */
function asText(message: string): string {
  return printable(message.replace(/\s*\n\s*/g, ' '))
}

function asJson(clock: Clock, level: keyof Logger, message: string, fields: Fields): string {
  return printableJson({
    time: new Date(clock.now()).toISOString(),
    level,
    message: message.replace(/^wide-cache: /, ''),
    ...fields,
  })
}
