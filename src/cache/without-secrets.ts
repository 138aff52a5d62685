/** A list that cannot be read, for a message: an `@` may be missing in it. */
export function withoutSecrets(servers: string): string {
  return servers.replace(/^.*@/s, '***@').replace(/:(?!\/\/|[0-9]{1,5}(?![^,/])).*$/s, ':***')
}
