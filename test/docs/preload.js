// Loaded before a block of the docs, so that it runs as printed beside others: what it listens on
// is a free port, which the parent is told, and the servers it names are the test's.
// WIDE_CACHE_TEST_ROUTES has these, by host and port.
import net from 'node:net'

const routes = JSON.parse(process.env.WIDE_CACHE_TEST_ROUTES ?? '{}')
delete process.env.WIDE_CACHE_TEST_ROUTES

const { listen } = net.Server.prototype
net.Server.prototype.listen = function (...args) {
  const [first] = args
  // A program that takes any port asks itself, and ends by itself. Its parent would disturb it.
  if (Number(first?.port ?? first) > 0) {
    args[0] = typeof first === 'object' ? { ...first, port: 0 } : 0
    this.once('listening', () => process.send?.({ port: this.address().port }))
  }
  return listen.apply(this, args)
}

const { connect } = net.Socket.prototype
net.Socket.prototype.connect = function (...args) {
  // pg says (port, host).
  if (typeof args[1] === 'string') args.splice(0, 2, { port: Number(args[0]), host: args[1] })
  // net.connect() hands its arguments on as [options, callback].
  const options = Array.isArray(args[0]) ? args[0][0] : args[0]
  if (typeof options === 'object' && options !== null && options.port !== undefined) {
    const { host = 'localhost', port } = options
    const route = routes[`${host}:${port}`]
    if (route) Object.assign(options, route)
    else if (!['localhost', '127.0.0.1', '::1'].includes(host)) {
      throw new Error(`a block of the docs connects to ${host}:${port}, which it does not name`)
    }
  }
  return connect.apply(this, args)
}
