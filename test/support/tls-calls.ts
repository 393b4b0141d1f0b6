// A process of its own, because trust in a certificate is decided when a process starts: calls a TLS upstream by name and
// by address, and prints what came of it.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { UpstreamError } from '../../src/providers/provider.ts'
import { openUpstream } from '../../src/providers/upstream.ts'

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))
const handshakes: { name: string | false; resumed: boolean }[] = []

const server = createServer({ key: fixture('localhost.key'), cert: fixture('localhost.crt') }, (request, response) => {
  request.resume().on('end', () => response.writeHead(200, { connection: 'close' }).end('by TLS'))
})
server.on('secureConnection', (socket: TLSSocket & { servername: string | false }) => {
  handshakes.push({ name: socket.servername, resumed: socket.isSessionReused() })
})

async function call(host: string, times: number): Promise<string[]> {
  const { port } = server.address() as AddressInfo
  const wire = openUpstream(`https://${host}:${port}`, { connections: 1 })
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

server.listen(0, 'localhost', async () => {
  const by_name = await call('localhost', 2)
  const by_address = await call('127.0.0.1', 1)
  process.stdout.write(JSON.stringify({ by_name, by_address, handshakes }))
  server.close()
})
