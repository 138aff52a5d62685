/** A certificate of `localhost` that signs itself, for servers with TLS. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { removeFolder, temporaryFolder } from './process.js'

/** Makes the files `key` and `cert` in the folder. */
export function makeCertificate(folder: string): { key: string; cert: string } {
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const keys = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert]
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...subject, ...keys], { stdio: 'ignore' })
  return { key, cert }
}

/** Returns key and certificate, for a server in this process. */
export function certificate(): { key: Buffer; cert: Buffer } {
  const folder = temporaryFolder('certificate')
  try {
    const { key, cert } = makeCertificate(folder)
    return { key: readFileSync(key), cert: readFileSync(cert) }
  } finally {
    removeFolder(folder)
  }
}
