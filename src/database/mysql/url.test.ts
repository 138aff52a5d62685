import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { poolOptions } from './pool-options.js'
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

test('the parameters of TLS are read in any spelling of their names', () => {
  const cases: [string, ReturnType<typeof read>['ssl']][] = [
    ['', undefined],
    [
      'ssl={"rejectUnauthorized":true,"minVersion":"TLSv1.2"}',
      { rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    ],
    ['ssl-mode=REQUIRED', UNVERIFIED],
    ['ssl_mode=required', UNVERIFIED],
    ['sslMode=REQUIRED', UNVERIFIED],
    ['ssl-mode=DISABLED', undefined],
    ['ssl-mode=VERIFY_CA', {}],
    ['ssl-mode=verify_identity', IDENTITY],
    [`ssl-ca=${pem('ca')}`, { ca: 'PEM of ca' }],
    [`ssl-ca=${pem('ca')}&ssl-mode=required`, { ca: 'PEM of ca', rejectUnauthorized: false }],
    [
      `sslca=${pem('ca')}&ssl-cert=${pem('cert')}&ssl-key=${pem('key')}&ssl-mode=verify_identity`,
      { ca: 'PEM of ca', cert: 'PEM of cert', key: 'PEM of key', verifyIdentity: true },
    ],
    ['ssl-cert=-----BEGIN%20X', { cert: '-----BEGIN X' }],
  ]
  for (const [parameters, ssl] of cases) {
    const found = read(parameters)
    assert.deepEqual([found.ssl, found.warnings], [ssl, []], parameters)
  }
  for (const name of ['connection_limit', 'connectionLimit', 'connection-limit']) {
    assert.equal(read(`${name}=3`).connectionLimit, 3)
  }
  assert.equal(read('connection_limit=3&connectionLimit=4').connectionLimit, 3, 'the first counts')
  assert.equal(read('socket=/run/mysqld.sock').socketPath, '/run/mysqld.sock')
})

test('spellings of other programs for TLS and sockets are refused with the accepted ones', () => {
  for (const [parameter, accepted] of [
    ['sslaccept=strict', 'of TLS, ssl-mode, ssl-ca, ssl-cert, ssl-key, ssl'],
    ['useSSL=true', 'of TLS, ssl-mode'],
    ['tls=skip-verify', 'of TLS, ssl-mode'],
    ['sslrootcert=/ca.pem', 'of TLS, ssl-mode, ssl-ca'],
    ['ssl-mod=verify_identity', 'of TLS, ssl-mode'],
    ['unix_socket=/run/mysqld.sock', 'for a socket, socket'],
    ['socketPath=/run/mysqld.sock', 'for a socket, socket'],
  ] as const) {
    const [name = ''] = parameter.split('=')
    assert.throws(
      () => read(parameter),
      ({ name: errorName, message }: Error) =>
        errorName === 'RangeError' &&
        message.includes(`option "database" is a URL with the parameter ${name};`) &&
        message.includes(`allowed: ${accepted}`),
      parameter,
    )
  }
  for (const parameter of ['ssl-mode=preferred', 'ssl-mode=require', 'ssl=true', 'ssl=s3cret']) {
    assert.throws(
      () => read(parameter),
      ({ message }: Error) => /ssl-mode/.test(message) && !/s3cret/.test(message),
      parameter,
    )
  }
})

test('other parameters are named in one warning, never their values, and change nothing', () => {
  const { warnings, ...found } = read('charset=s3cret&multipleStatements=true&b%24r=s3cret&baz')
  assert.deepEqual(warnings, [
    'wide-cache: option "database": the URL has parameters that wide-cache does not know and ' +
      'ignores: charset, multipleStatements, (a name with special characters), baz',
  ])
  assert.deepEqual(found, { ssl: undefined, connectionLimit: 5, socketPath: undefined })
  assert.equal(poolOptions('mysql://h/d?multipleStatements=true')[0]!.multipleStatements, false)
})

test('a certificate whose file is missing asks for TLS all the same, with a warning', () => {
  const none = encodeURIComponent(join(folder, 's3cret.pem'))
  for (const parameter of ['ssl-ca', 'ssl-cert', 'ssl-key']) {
    const { ssl, warnings } = read(`${parameter}=${none}`)
    assert.deepEqual(ssl, {}, 'the certificate of the server is verified')
    assert.match(warnings.join(), new RegExp(`parameter ${parameter} names cannot be read .ENOENT`))
  }
  assert.equal(read(`ssl-ca=${none}&ssl-mode=disabled`).ssl, undefined)
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
        /"database" is the address (10\.0\.0\.[56]|fd00::5) beside .*; allowed: the host/.test(
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
    ['a,b:0', /option "database, port of host 2" is 0/],
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
