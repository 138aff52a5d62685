// (f) One append per visit to a random cell of the same grid, and `add` where there is no cell yet.
import memjs from 'memjs'

const LAYER_MS = 3000
const WIDTH = 15

export function start({ memcached }) {
  const quiet = { log() {} }
  const client = memjs.Client.create(memcached, { retries: 1, logger: quiet })
  let pending = 0
  let recorded = 0
  return {
    use(app) {
      app.use((req, res, next) => {
        res.on('finish', () => {
          pending++
          record(`${JSON.stringify({ time: Date.now(), visitor: `${req.ip} ${req.get('user-agent')}`, page: req.path })}\n`).finally(() => { pending-- })
        })
        next()
      })
    },
    async count() {
      while (pending > 0) await new Promise((resolve) => setTimeout(resolve, 20))
      return recorded
    },
    async close() { client.close() },
  }

  async function record(line) {
    const key = `append:${Math.floor(Date.now() / LAYER_MS)}:${Math.floor(Math.random() * WIDTH)}`
    const append = () => client.append(key, line).then((stored) => stored, () => false)
    if (await append() || await client.add(key, line, { expires: 60 }).catch(() => false) || await append()) recorded++
  }
}
