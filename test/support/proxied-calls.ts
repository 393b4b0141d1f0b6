// A process of its own, because trust in a certificate is decided when a process starts: calls a TLS upstream through a
// proxy that speaks CONNECT, and prints what came of it and what the proxy heard.
import { createServer as createProxy, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { guardedLookup } from '../../src/providers/address-policy.ts'
import type { UpstreamOptions } from '../../src/providers/upstream.ts'
import { listening, outcomesOf, portOf, tlsServer } from './tls-upstream.ts'

const heard: { asked: string; authorization: string | undefined }[] = []

const upstream = tlsServer((request, response) => {
  request.resume().on('end', () => response.end('by TLS'))
})
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

const call = (options: Partial<UpstreamOptions>, times = 1, host = 'localhost') =>
  outcomesOf(`https://${host}:${portOf(upstream)}`, { connect_ms: 5_000, ...options }, times)

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
