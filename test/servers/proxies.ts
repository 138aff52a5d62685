/** Proxies in front of a site, each with a snippet of its settings. */
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { binary } from './binaries.js'
import { freePort } from './free-port.js'
import {
  endProcess,
  hasEnded,
  removeFolder,
  startProcess,
  tail,
  temporaryFolder,
} from './process.js'

const TIMEOUT_MS = 60_000
const MODULES = '/usr/lib/apache2/modules'

interface Proxy {
  /** The whole configuration around a snippet. `outer`: settings of the whole server. */
  settings(snippet: string, port: number, folder: string, outer: string): string
  args(file: string, folder: string): string[]
}

export const PROXIES = {
  nginx: {
    settings: (snippet, port, folder, outer) =>
      `daemon off;\npid ${folder}/pid;\nerror_log stderr;\nevents {}\n` +
      `http {\naccess_log off;\nclient_body_temp_path ${folder}/body;\n` +
      `proxy_temp_path ${folder}/proxy;\nfastcgi_temp_path ${folder}/fastcgi;\n` +
      `uwsgi_temp_path ${folder}/uwsgi;\nscgi_temp_path ${folder}/scgi;\n` +
      `${outer}server {\nlisten 127.0.0.1:${port};\n${snippet}\n}\n}\n`,
    args: (file, folder) => ['-p', folder, '-c', file],
  },
  apache: {
    settings: (snippet, port, folder, outer) =>
      ['mpm_event', 'authz_core', 'proxy', 'proxy_http']
        .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so\n`)
        .join('') +
      `Listen 127.0.0.1:${port}\nServerName localhost\nPidFile ${folder}/pid\n` +
      `ServerRoot ${folder}\nDefaultRuntimeDir ${folder}\nErrorLog /dev/stderr\n` +
      `User www-data\nGroup www-data\n${outer}${snippet}\n`,
    args: (file) => ['-f', file, '-DFOREGROUND'],
  },
  caddy: {
    settings: (snippet, port, folder, outer) =>
      `{\nadmin off\nauto_https off\nstorage file_system ${folder}\n${outer}}\n` +
      snippet.replace('example.com', `http://127.0.0.1:${port}`),
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
} satisfies Record<string, Proxy>

/** Runs a proxy in front of `sitePort`, which the snippet calls 3000, while `use` runs. */
export async function behindProxy(
  name: keyof typeof PROXIES,
  snippet: string,
  sitePort: number,
  use: (port: number) => Promise<void>,
  outer = '',
): Promise<void> {
  const proxy: Proxy = PROXIES[name]
  const folder = temporaryFolder(name)
  const [file, log] = [join(folder, 'settings'), join(folder, 'log')]
  const port = await freePort()
  const ofSite = snippet.replaceAll('3000', String(sitePort))
  writeFileSync(file, proxy.settings(ofSite, port, folder, outer))
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = startProcess(binary(name), proxy.args(file, folder), log, home)
  try {
    const deadline = performance.now() + TIMEOUT_MS
    while (!(await accepts(port))) {
      if (hasEnded(child) || performance.now() > deadline) {
        throw new Error(`${name} on port ${port} has not started:\n${tail(log)}`)
      }
      await delay(20)
    }
    await use(port)
  } finally {
    await endProcess(child, 'SIGTERM')
    removeFolder(folder)
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => resolve(false))
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
