/**
 * The value of an environment variable, without the quotes that `docker --env-file` keeps; empty
 * where it is not set.
 */
export function variable(env: NodeJS.ProcessEnv, name: string): string {
  const text = (env[name] ?? '').trim()
  return /^(["']).*\1$/s.test(text) ? text.slice(1, -1) : text
}

/**
 * The variables that name cache servers; the first one that is set counts. REDIS_URL is the last,
 * because a site may have it for something else.
 */
const CACHE_VARIABLES = ['WIDE_CACHE_SERVERS', 'MEMCACHE_SERVERS', 'REDIS_URL']

/** Returns the name of the variable that names the cache servers; `undefined`: none is set. */
export function cacheVariable(env: NodeJS.ProcessEnv): string | undefined {
  return CACHE_VARIABLES.find((name) => variable(env, name) !== '')
}
