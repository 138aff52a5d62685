/** A certificate of `localhost` that signs itself, for servers with TLS. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Makes the files `key` and `cert` in the folder. */
export function makeCertificate(folder: string): { key: string; cert: string } {
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const keys = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert]
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...subject, ...keys], { stdio: 'ignore' })
  return { key, cert }
}
