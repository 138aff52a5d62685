// (e) The original wide cache: read the cell's array, push, write it back. Layers of 3 s, 15 columns. Two
// visits that meet in a cell overwrite each other.
import memjs from 'memjs'

const LAYER_MS = 3000
const WIDTH = 15

export function start({ memcached }) {
  const client = memjs.Client.create(memcached, { retries: 1 })
  let pending = 0
  let recorded = 0
  return {
    use(app) {
      app.use((req, res, next) => {
        res.on('finish', () => {
          pending++
          record({ time: Date.now(), visitor: `${req.ip} ${req.get('user-agent')}`, page: req.path }).finally(() => { pending-- })
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

  async function record(visit) {
    const key = `original:${Math.floor(Date.now() / LAYER_MS)}:${Math.floor(Math.random() * WIDTH)}`
    const { value } = await client.get(key)
    const visits = value ? JSON.parse(value.toString()) : []
    visits.push(visit)
    await client.set(key, JSON.stringify(visits), { expires: 60 })
    recorded++
  }
}
