import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { poolOptions } from './options.js'
import { removeFolder, temporaryFolder } from '../../../test/servers/process.js'

const folder = temporaryFolder('mysql-url')
after(() => removeFolder(folder))
const pem = (name: string): string => {
  const path = join(folder, name)
  writeFileSync(path, `PEM of ${name}`)
  return encodeURIComponent(path)
}

/** What comes of the parameters, and the warnings. */
function read(parameters: string) {
  const warnings: string[] = []
  const { ssl, connectionLimit, socketPath } = poolOptions(
    `mysql://anna:s3cret@10.0.0.7/site?${parameters}`,
    'database',
    (message) => warnings.push(message),
  )
  assert(!warnings.some((warning) => /s3cret|anna|PEM/.test(warning)))
  return { ssl, connectionLimit, socketPath, warnings }
}

const UNVERIFIED = { rejectUnauthorized: false }
const IDENTITY = { verifyIdentity: true }

test('URL parameters of Prisma, clouds and other clients work in every spelling, unlogged', () => {
  const cases: [string, ReturnType<typeof read>['ssl']][] = [
    ['ssl=true', {}],
    ['ssl=false', undefined],
    [
      'ssl={"rejectUnauthorized":true,"minVersion":"TLSv1.2"}',
      { rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    ],
    ['ssl=Amazon%20RDS', 'Amazon RDS'],
    ['ssl-mode=REQUIRED', UNVERIFIED],
    ['sslmode=require', UNVERIFIED],
    ['ssl_mode=required', UNVERIFIED],
    ['sslMode=REQUIRED', UNVERIFIED],
    ['ssl=required', UNVERIFIED],
    ['ssl-mode=DISABLED', undefined],
    ['sslmode=disable', undefined],
    ['ssl-mode=VERIFY_CA', {}],
    ['sslmode=verify-full', IDENTITY],
    ['ssl-mode=verify_identity', IDENTITY],
    ['sslaccept=strict', IDENTITY],
    ['sslaccept=accept_invalid_certs', UNVERIFIED],
    ['sslmode=require&sslaccept=strict', IDENTITY],
    ['useSSL=true', UNVERIFIED],
    ['tls=skip-verify', UNVERIFIED],
    [`ssl-ca=${pem('ca')}`, { ca: 'PEM of ca' }],
    [`sslcert=${pem('ca')}&sslaccept=strict`, { ca: 'PEM of ca', verifyIdentity: true }],
    [
      `sslca=${pem('ca')}&ssl-cert=${pem('cert')}&ssl-key=${pem('key')}`,
      { ca: 'PEM of ca', cert: 'PEM of cert', key: 'PEM of key' },
    ],
  ]
  for (const [parameters, ssl] of cases) {
    const found = read(parameters)
    assert.deepEqual([found.ssl, found.warnings], [ssl, []], parameters)
  }
  for (const name of ['connection_limit', 'connectionLimit', 'connection-limit']) {
    assert.equal(read(`${name}=3`).connectionLimit, 3)
  }
  for (const name of ['socket', 'socketPath', 'unix_socket']) {
    assert.equal(read(`${name}=/run/mysqld.sock`).socketPath, '/run/mysqld.sock')
  }
})

test('parameters about what is fixed here are ignored without a word', () => {
  const { warnings, ...found } = read(
    'pool_timeout=10&connect_timeout=5&socket_timeout=3&charset=utf8&' +
      'timezone=Z&reconnect=true&serverVersion=8.0&multipleStatements=true&' +
      'pgbouncer=true&allowPublicKeyRetrieval=true',
  )
  assert.deepEqual(
    [warnings, found],
    [[], { ssl: undefined, connectionLimit: 5, socketPath: undefined }],
  )
  assert.equal(poolOptions('mysql://h/d?multipleStatements=true').multipleStatements, false)
})

test('unknown parameters are named in one warning, and never their values', () => {
  const { warnings } = read('foo=s3cret&ssl-mode=required&b%24r=s3cret&baz')
  assert.deepEqual(warnings, [
    'wide-cache: option "database": the URL has parameters that wide-cache does not know and ' +
      'ignores: foo, (a name with special characters), baz',
  ])
})

test('TLS that is only preferred, and a file that is not there, are said', () => {
  assert.match(read('ssl-mode=PREFERRED').warnings.join(), /without TLS; say ssl-mode=required/)
  const { ssl, warnings } = read(
    `sslcert=${encodeURIComponent(join(folder, 's3cret.pem'))}&sslaccept=strict`,
  )
  assert.deepEqual(ssl, IDENTITY)
  assert.match(warnings.join(), /parameter sslcert names cannot be read \(ENOENT\)/)
})
