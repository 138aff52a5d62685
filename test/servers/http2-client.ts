/** Asks servers of `node:http2`, each time over a connection of its own. */
import { connect } from 'node:http2'

/** What `fetch` does; it knows HTTP/1 only. The connection is gone when this resolves. */
export async function fetchHttp2(url: string, init: RequestInit = {}): Promise<Response> {
  const { origin, pathname, search } = new URL(url)
  const session = connect(origin, { rejectUnauthorized: false })
  try {
    return await new Promise((resolve, reject) => {
      session.on('error', reject)
      const stream = session.request({
        ':method': init.method ?? 'GET',
        ':path': pathname + search,
        ...(init.headers as Record<string, string>),
      })
      const chunks: Buffer[] = []
      const headers = new Headers()
      let status = 0
      stream.on('response', ({ ':status': code, ...fields }) => {
        status = Number(code)
        for (const [name, value] of Object.entries(fields)) headers.set(name, String(value))
      })
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', reject)
      stream.on('close', () => {
        const body = [204, 304].includes(status) ? null : Buffer.concat(chunks)
        resolve(new Response(body, { status, headers }))
      })
      stream.end(init.body)
    })
  } finally {
    await new Promise<void>((resolve) => {
      session.on('close', resolve)
      session.close()
    })
  }
}
