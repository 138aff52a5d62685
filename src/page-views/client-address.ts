import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** An address with a port, as some proxies write it; IPv6 in brackets, with or without one. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d*)?|([\d.]+):\d*)$/
const MAPPED = '::ffff:'

/**
 * Returns an IP address in its one usual form, without port and zone; `undefined`: the text is no
 * address. One address has many texts, and is one visitor.
 */
export function clientAddress(text: string): string | undefined {
  // Nearly all of them, at 0.1 µs; on a server that listens on IPv6, too, they are mapped.
  if (isIPv4(text)) return text
  if (text.startsWith(MAPPED) && isIPv4(text.slice(MAPPED.length))) {
    return text.slice(MAPPED.length)
  }
  const [, inBrackets, beforePort] = WITH_PORT.exec(text) ?? []
  const address = (inBrackets ?? beforePort ?? text).split('%', 1)[0]!
  if (isIP(address) === 0) return undefined
  return ipaddr.process(address).toString()
}
