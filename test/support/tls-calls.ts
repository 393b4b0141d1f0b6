// A process of its own, because trust in a certificate is decided when a process starts: calls a TLS upstream by name and
// by address, and prints what came of it.
import type { TLSSocket } from 'node:tls'
import { listening, outcomesOf, portOf, tlsServer } from './tls-upstream.ts'

const handshakes: { name: string | false; resumed: boolean }[] = []
const server = tlsServer((request, response) => {
  request.resume().on('end', () => response.writeHead(200, { connection: 'close' }).end('by TLS'))
})
server.on('secureConnection', (socket: TLSSocket & { servername: string | false }) => {
  handshakes.push({ name: socket.servername, resumed: socket.isSessionReused() })
})

await listening(server)
const by_name = await outcomesOf(`https://localhost:${portOf(server)}`, {}, 2)
const by_address = await outcomesOf(`https://127.0.0.1:${portOf(server)}`, {}, 1)
process.stdout.write(JSON.stringify({ by_name, by_address, handshakes }))
server.close()
