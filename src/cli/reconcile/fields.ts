/**
 * The fields of a log line: what the rule of page views reads of a request, and how each web server
 * says it. The formats that `reconcile --format` prints are made from it.
 */
import { RULE_HEADERS } from '../../page-views/page-view.js'

/** Request headers of a line: those of the rule, and the one that tells bots. */
const HEADERS = [...RULE_HEADERS, 'user-agent'] as const

/**
 * The other fields, with the variable of each server. `time` and `uri` come first: what follows
 * them is the same in many lines, and is read once.
 *
 * Apache logs the target as it was sent in the request line only. `upstream` is empty where the
 * server has answered by itself: nginx logs the status of the upstream, Apache its own handler.
 */
const FIELDS = {
  time: ['$msec', '%{end:sec}t.%{end:msec_frac}t'],
  uri: ['$request_uri', '%r'],
  host: ['$host', '%{Host}i'],
  method: ['$request_method', '%m'],
  status: ['$status', '%>s'],
  type: ['$sent_http_content_type', '%{Content-Type}o'],
  disposition: ['$sent_http_content_disposition', '%{Content-Disposition}o'],
  upstream: ['$upstream_status', '%R'],
} as const

/** Fields of Caddy's own log that hold an address or a secret, which no comparison needs. */
const CADDY_DELETES = [
  'remote_ip',
  'remote_port',
  'client_ip',
  'headers>Authorization',
  'headers>Cookie',
  'headers>Forwarded',
  'headers>X-Forwarded-For',
  'headers>X-Real-Ip',
]

/** Web servers that a format is known for. */
export const SERVERS = ['nginx', 'apache', 'caddy'] as const

/** Returns lines for the configuration of a web server. */
export function formatFor(server: (typeof SERVERS)[number]): string {
  if (server === 'nginx') {
    const lines = pairs(0, (header) => `$http_${header.replaceAll('-', '_')}`)
    return [
      '# In the block "http":',
      'log_format wide_cache escape=json',
      ...lines.map((line, at) => `  '${line}'${at === lines.length - 1 ? ';' : ''}`),
      '# In the block "server":',
      'access_log /var/log/nginx/wide-cache.log wide_cache;\n',
    ].join('\n')
  }
  if (server === 'apache') {
    const lines = pairs(1, (header) => `%{${header}}i`)
    return [
      `LogFormat "${lines.join('\\\n').replaceAll('"', '\\"')}" wide_cache`,
      'CustomLog ${APACHE_LOG_DIR}/wide-cache.log wide_cache\n',
    ].join('\n')
  }
  return [
    '# In the block of the site:',
    'log {',
    '\toutput file /var/log/caddy/wide-cache.log',
    '\tformat filter {',
    '\t\twrap json',
    '\t\tfields {',
    ...CADDY_DELETES.map((field) => `\t\t\trequest>${field} delete`),
    '\t\t}',
    '\t}',
    '}',
    '# Caddy 2.8 and later, if Caddy serves pages by itself, too:',
    '# log_append upstream {http.reverse_proxy.upstream.hostport}\n',
  ].join('\n')
}

/** Returns the parts of a line, one below the other. */
function pairs(server: 0 | 1, headerOf: (header: string) => string): string[] {
  const all = [
    ...Object.entries(FIELDS).map(([field, variables]) => [field, variables[server]]),
    ...HEADERS.map((header) => [header, headerOf(header)]),
  ]
  return all.map(
    ([field, value], at) =>
      `${at === 0 ? '{' : ''}"${field}":"${value}"${at === all.length - 1 ? '}' : ','}`,
  )
}
