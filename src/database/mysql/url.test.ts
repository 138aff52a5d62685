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

/** Reads the parameters of a URL. Returns the options that they give, and the warnings. */
function read(parameters: string) {
  const warnings: string[] = []
  const [options] = poolOptions(
    `mysql://anna:s3cret@db7.example.net/site?${parameters}`,
    'database',
    (message) => warnings.push(message),
  )
  const { ssl, connectionLimit, socketPath } = options!
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
  assert.equal(poolOptions('mysql://h/d?multipleStatements=true')[0]!.multipleStatements, false)
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

test('a certificate whose file is missing asks for TLS all the same', () => {
  for (const parameter of ['ssl-ca', 'sslrootcert', 'sslcert']) {
    const { ssl, warnings } = read(`${parameter}=${encodeURIComponent(join(folder, 'none.pem'))}`)
    assert(typeof ssl === 'object', 'the server’s certificate is verified')
    assert.match(warnings.join(), /cannot be read \(ENOENT\)/)
  }
  assert.equal(read('ssl-ca=/none.pem&ssl-mode=disabled').ssl, undefined)
})

test('a parameter of TLS with a name that does not exist is refused', () => {
  for (const parameter of ['ssl-mod=verify_identity', 'tlss=1', 'ssl-caa=x']) {
    assert.throws(() => read(parameter), {
      name: 'RangeError',
      message: /a URL with the parameter (?:ssl-mod|tlss|ssl-caa)"; allowed: of TLS, ssl, /,
    })
  }
})

test('several hosts share all else that the URL says', () => {
  const url = 'mysql://anna:s3%2Ccret@a,[2001:db8::1]:3307,10.0.0.9:3306/site?ssl-mode=required'
  const found = poolOptions(url)
  assert.deepEqual(
    found.map(({ host, port }) => [host, port]),
    [
      ['a', 3306],
      ['2001:db8::1', 3307],
      ['10.0.0.9', 3306],
    ],
  )
  for (const { user, password, database, ssl } of found) {
    assert.deepEqual([user, password, database, ssl], ['anna', 's3,cret', 'site', UNVERIFIED])
  }
  const hosts = [{ host: 'a' }, { host: 'a', port: 3307 }]
  assert.deepEqual(
    poolOptions({ hosts, database: 'site' }).map(({ host, port }) => [host, port]),
    [
      ['a', 3306],
      ['a', 3307],
    ],
  )
})

test('a password in a place of its own in the URL is not taken for the schema', () => {
  for (const url of [
    'mysql:/anna:s3cret@127.0.0.1/site',
    'mysql:anna:s3cret@127.0.0.1/site',
    'mysql:///anna:s3cret@127.0.0.1/site',
    'mysql://anna:33/s3cret@127.0.0.1/site',
    'mysql://anna:33#s3cret@127.0.0.1/site',
  ]) {
    assert.throws(
      () => poolOptions(url),
      ({ name, message }: Error) => {
        assert.match(message, /percent-encoded|cannot be read/)
        return name === 'RangeError' && !/s3cret/.test(message)
      },
    )
  }
})

test('an address is refused where certificates are compared with a name', () => {
  for (const host of ['10.0.0.5', '[fd00::5]', 'db.example.net,10.0.0.6']) {
    assert.throws(
      () => poolOptions(`mysql://u:secret@${host}/site?ssl-mode=verify_identity`),
      (error: Error & { code: string }) =>
        error.code === 'ERR_WIDE_CACHE_OPTION' &&
        /"database" is "the address (10\.0\.0\.[56]|fd00::5) beside .*; allowed: the host/.test(
          error.message,
        ) &&
        !error.message.includes('secret'),
    )
  }
  const database = 'site'
  assert.throws(() => poolOptions({ host: '::1', database, ssl: IDENTITY }), RangeError)
  const socketPath = '/run/mysqld/mysqld.sock'
  assert.equal(poolOptions({ host: '::1', database, ssl: IDENTITY, socketPath }).length, 1)
  assert.equal(poolOptions('mysql://u@10.0.0.5/site?ssl-mode=verify_ca').length, 1)
})

test('a wrong list of hosts is refused by what is wrong with it, without a secret', () => {
  const many = Array.from({ length: 17 }, (_, i) => `host${i}`).join(',')
  for (const [authority, why] of [
    ['a,,b', /host 2 of 3 cannot be read/],
    ['a,b:x', /host 2 of 2 cannot be read/],
    ['a:3306,b,A', /has a host twice/],
    [many, /a list of 17 hosts.*1 to 16/],
    ['a,b:0', /option "port" is 0/],
    ['a:70000,b', /host 1 of 2 cannot be read/],
  ] as const) {
    assert.throws(() => poolOptions(`mysql://anna:s3cret@${authority}/site`), {
      name: 'RangeError',
      code: 'ERR_WIDE_CACHE_OPTION',
      message: why,
    })
    assert.throws(
      () => poolOptions(`mysql://anna:s3cret@${authority}/site`),
      ({ message }: Error) => !/s3cret|anna/.test(message),
    )
  }
  assert.throws(
    () => poolOptions('mysql://a,b/site?socket=/run/mysqld.sock'),
    /"hosts" is .*; allowed: hosts alone/,
  )
  for (const hosts of [[], [{}], [{ host: 'a', prt: 1 }], 'a'] as never[]) {
    assert.throws(() => poolOptions({ hosts, database: 'site' }), { code: 'ERR_WIDE_CACHE_OPTION' })
  }
})
