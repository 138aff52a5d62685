/**
 * The value of an environment variable, without the quotes that `docker --env-file` keeps; empty
 * where it is not set.
 */
export function variable(env: NodeJS.ProcessEnv, name: string): string {
  const text = (env[name] ?? '').trim()
  return /^(["']).*\1$/s.test(text) ? text.slice(1, -1) : text
}
