import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { inspect } from 'node:util'
import { removeFolder, temporaryFolder } from '../../../test/servers/process.js'
import { poolOptions } from './pool-options.js'

const folder = temporaryFolder('postgres-url')
after(() => removeFolder(folder))
const pem = (name: string): string => {
  const path = join(folder, name)
  writeFileSync(path, `PEM of ${name}`)
  return encodeURIComponent(path)
}

/** Reads the parameters of a URL. Returns the options that they give, and the warnings. */
function read(parameters: string) {
  const warnings: string[] = []
  const [options] = poolOptions(
    `postgres://anna:s3cret@db7.example.net/site?${parameters}`,
    'database',
    (message) => warnings.push(message),
  )
  const { ssl: given, max, host, port } = options!
  const { checkServerIdentity, ...others } = typeof given === 'object' ? given : {}
  const ssl = typeof given === 'object' ? others : given
  const anyName = checkServerIdentity?.('a', { subject: { CN: 'b' } } as never) === undefined
  assert(!warnings.some((warning) => /s3cret|anna|PEM/.test(warning)))
  return { ssl, anyName, max, host, port, warnings }
}

test('a URL names user, password, host, port and database, percent-encoded', () => {
  const [found] = poolOptions('postgresql://an%20na:s3%2Fcret@[2001:db8::1]:6543/my%20site')
  const { user, password, host, port, database } = found!
  assert.deepEqual(
    [user, password, host, port, database],
    ['an na', 's3/cret', '2001:db8::1', 6543, 'my site'],
  )
  const [least] = poolOptions('postgres://h/d')
  assert.deepEqual(
    [least!.user, least!.password, least!.port, least!.max],
    [undefined, undefined, 5432, 5],
  )
})

test('a Unix socket is named by its folder, in either form of libpq', () => {
  for (const url of [
    'postgres://anna@/site?host=/run/postgresql',
    'postgres:///site?host=/run/postgresql&port=5432',
    'postgres://anna@%2Frun%2Fpostgresql/site',
    'postgres://anna@localhost/site?host=%2Frun%2Fpostgresql',
  ]) {
    const [{ host, port, database } = {}] = poolOptions(url)
    assert.deepEqual([host, port, database], ['/run/postgresql', 5432, 'site'], url)
  }
})

test("TLS is asked for in libpq's words", () => {
  const cases: [string, unknown, anyName: boolean][] = [
    ['', undefined, true],
    ['sslmode=disable', undefined, true],
    ['sslmode=require', { rejectUnauthorized: false }, true],
    ['sslmode=verify-full', {}, false],
    ['sslrootcert=system', {}, false],
    [`sslrootcert=${pem('ca')}`, { ca: 'PEM of ca' }, false],
    [
      `sslmode=verify-full&sslrootcert=${pem('ca')}&sslcert=${pem('cert')}&sslkey=${pem('key')}`,
      { ca: 'PEM of ca', cert: 'PEM of cert', key: 'PEM of key' },
      false,
    ],
    [`sslmode=verify-ca&sslrootcert=${pem('ca')}`, { ca: 'PEM of ca' }, true],
    // As libpq has it: a root certificate makes `require` verify it.
    [`sslmode=require&sslrootcert=${pem('ca')}`, { ca: 'PEM of ca' }, true],
  ]
  for (const [parameters, ssl, anyName] of cases) {
    const found = read(parameters)
    assert.deepEqual([found.ssl, found.anyName, found.warnings], [ssl, anyName, []], parameters)
  }
  for (const mode of ['allow', 'prefer']) {
    const found = read(`sslmode=${mode}`)
    assert.equal(found.ssl, undefined)
    assert.match(found.warnings.join(), /connects without TLS here. Say sslmode=require/)
  }
})

test('what the connection would not be is refused by name, without a value', () => {
  const none = encodeURIComponent(join(folder, 's3cret.pem'))
  for (const [parameters, message] of [
    ['sslmode=s3cret', /"database, parameter sslmode" is another word; .*verify-full/],
    ['ssl=true', /"database" is a URL with the parameter ssl; .*sslmode/],
    ['channel_binding=require', /the parameter channel_binding/],
    [`sslrootcert=${none}`, /parameter sslrootcert" is a file that cannot be read \(ENOENT\);/],
    ['target_session_attrs=read-only', /parameter target_session_attrs" is .*must take writes/],
    ['target_session_attrs=standby', /parameter target_session_attrs"/],
  ] as const) {
    assert.throws(
      () => read(parameters),
      (error: Error) => message.test(error.message) && !inspect(error).includes('s3cret'),
      parameters,
    )
  }
  for (const value of ['any', 'read-write', 'primary']) {
    assert.deepEqual(read(`target_session_attrs=${value}`).warnings, [])
  }
})

test('other parameters are named in one warning, never their values, and change nothing', () => {
  const { warnings, anyName, ...found } = read('schema=s3cret&pgbouncer=true&b%24r=s3cret')
  assert.deepEqual(warnings, [
    'wide-cache: option "database": the URL has parameters that wide-cache does not know and ' +
      'ignores: schema, pgbouncer, (a name with special characters)',
  ])
  assert(anyName)
  assert.deepEqual(found, { ssl: undefined, max: 5, host: 'db7.example.net', port: 5432 })
})

test('several hosts share all else that the URL says', () => {
  const found = poolOptions('postgres://anna:s3cret@a,b:5433,[::1]/site?connection_limit=3')
  assert.deepEqual(
    found.map(({ host, port, max, password }) => [host, port, max, password]),
    [
      ['a', 5432, 3, 's3cret'],
      ['b', 5433, 3, 's3cret'],
      ['::1', 5432, 3, 's3cret'],
    ],
  )
})

test('wrong URLs and options are refused by name, without what they hold', () => {
  for (const [given, message] of [
    ['postgres://u:s3cret@h', /a URL without a database/],
    ['postgres://u:s3c/ret@h/d', /cannot be read/],
    ['postgres://u:s3cret@h:99999/d', /cannot be read/],
    ['postgres://u:s3cret@a,a/d', /a host twice/],
    ['postgres://u:s3cret@h/d?connection_limit=0', /"database, parameter connection_limit" is 0/],
    ['mysql://u:s3cret@h/d', /"mysql:…"/],
    [{ host: 'h' }, /"database"/],
    [{ database: 'd', prt: 1 }, /"prt"/],
    [{ database: 'd', host: 'h', hosts: [{ host: 'h' }] }, /hosts alone/],
    [{ database: 'd', password: { s3cret: 1 } }, /"password" is/],
  ] as const) {
    assert.throws(
      () => poolOptions(given as never),
      (error: Error) => message.test(error.message) && !inspect(error).includes('s3c'),
      String(message),
    )
  }
})
