// A process of its own, because trust in a certificate is decided when a process starts: calls a TLS upstream through a
// proxy that speaks CONNECT, and prints what came of it and what the proxy heard.
import { readFileSync } from 'node:fs'
import { createServer as createProxy, type IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { guardedLookup } from '../../src/providers/address-policy.ts'
import { UpstreamError } from '../../src/providers/provider.ts'
import { openUpstream, type UpstreamOptions } from '../../src/providers/upstream.ts'

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))
const heard: { asked: string; authorization: string | undefined }[] = []

const upstream = createServer(
  { key: fixture('localhost.key'), cert: fixture('localhost.crt') },
  (request, response) => {
    request.resume().on('end', () => response.end('by TLS'))
  },
)
const proxy = createProxy()
proxy.on('connect', (request: IncomingMessage, client: Socket) => {
  const { url: asked = '', headers } = request
  heard.push({ asked: asked.replace(/:\d+$/, ''), authorization: headers['proxy-authorization'] })
  if (headers['proxy-authorization'] === undefined)
    return client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
  const beyond = connect({ host: 'localhost', port: Number(asked.split(':').at(-1)) }, () => {
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    beyond.pipe(client).pipe(beyond)
  })
  beyond.on('error', () => client.destroy())
  client.on('error', () => beyond.destroy())
})

const portOf = (server: Server) => (server.address() as AddressInfo).port
const listening = (server: Server) => new Promise<void>((done) => void server.listen(0, 'localhost', done))

async function call(options: Partial<UpstreamOptions>, times = 1, host = 'localhost'): Promise<string[]> {
  const wire = openUpstream(`https://${host}:${portOf(upstream)}`, { connections: 1, connect_ms: 5_000, ...options })
  const timeouts = { first_byte_ms: 5_000, idle_ms: 5_000 }
  const outcomes: string[] = []
  for (let n = 0; n < times; n++) {
    const sent = wire.send({ method: 'GET', path: '/', headers: {}, timeouts }, new AbortController().signal)
    const outcome = sent.then(async (answer) => String(await answer.whole()))
    outcomes.push(await outcome.catch((error) => (error instanceof UpstreamError ? error.failure : String(error))))
  }
  await wire.close()
  return outcomes
}

await Promise.all([listening(upstream), listening(proxy)])
const at = (user: string) => new URL(`http://${user}localhost:${portOf(proxy)}`)
const policy = (allow_private: boolean) => guardedLookup({ allow_private, allow_cidrs: [] })
const told = {
  through: await call({ proxy: at('us%20er:pass@') }, 2),
  refused: await call({ proxy: at('') }),
  nobody: await call({ proxy: new URL('http://localhost:1') }),
  judged: await call({ proxy: at('u:p@'), lookup: policy(true) }),
  guarded: await call({ proxy: at('u:p@'), lookup: policy(false) }),
  guarded_address: await call({ proxy: at('u:p@'), lookup: policy(false) }, 1, '127.0.0.1'),
  heard,
}
process.stdout.write(JSON.stringify(told))
upstream.close()
proxy.close()
