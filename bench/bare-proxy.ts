// The reference for the inference path: node:http in front, undici's dispatch behind, bytes passed on, nothing else.
// As `Fastify`, it stands in front, with no schema, no hook and no log: what the framework alone costs. As `sockets`,
// bytes go from one to the other unread: what any process of this runtime between two others costs. As `plain`, node:http
// stands in front of such sockets: what its HTTP server alone adds to that.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, createServer as createSocketServer, type Socket } from 'node:net'
import Fastify from 'fastify'
import { Pool } from 'undici'

const pool = new Pool(process.env.UPSTREAM as string, { connections: 1024, pipelining: 1 })
const headers = { 'content-type': 'application/json' }

function pass(path: string, body: Buffer, response: ServerResponse): void {
  pool.dispatch(
    { path, method: 'POST', headers, body },
    {
      onRequestStart() {},
      onResponseStart(_controller, status, head) {
        response.writeHead(status, { 'content-type': head['content-type'] as string })
      },
      onResponseData: (_controller, part) => void response.write(part),
      onResponseEnd: () => void response.end(),
      onResponseError: () => void response.destroy(),
    },
  )
}

const onRequest = (passOn: typeof pass) => (request: IncomingMessage, response: ServerResponse) => {
  if (request.method === 'GET') return void response.end('{}')
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => passOn(request.url as string, Buffer.concat(parts), response))
}

const idle: Socket[] = []

/** Knows of HTTP only what the harness's upstream says: its head comes whole, and its answers end in one of two ways. */
function passPlainly(path: string, body: Buffer, response: ServerResponse): void {
  const socket = idle.pop() ?? connectUpstream()
  const head = `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  let left = Number.NaN
  socket.on('data', (part: Buffer) => {
    if (!response.headersSent) {
      const end = part.indexOf('\r\n\r\n') + 4
      const [, length] = /content-length: (\d+)/i.exec(part.toString('latin1', 0, end)) ?? []
      left = Number(length) + end
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write(part.subarray(end))
    } else response.write(part)
    left -= part.length
    if (left !== 0 && !part.subarray(-5).equals(LAST_CHUNK)) return
    socket.removeAllListeners('data')
    idle.push(socket)
    response.end()
  })
  socket.write(Buffer.concat([Buffer.from(head), body]))
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n')

function connectUpstream(): Socket {
  const { port, hostname } = new URL(process.env.UPSTREAM as string)
  return connect(Number(port), hostname).setNoDelay(true)
}

function joinSockets(client: Socket): void {
  const upstream = connectUpstream()
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.setNoDelay(true)
    from.on('data', (part) => void to.write(part))
    from.on('error', () => {})
    from.on('close', () => void to.destroy())
  }
}

async function fastify() {
  const app = Fastify({ bodyLimit: 16 * 1024 * 1024 })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.get('/', (_request, reply) => void reply.send('{}'))
  app.post('/v1/chat/completions', (request, reply) => {
    reply.hijack()
    pass(request.url, request.body as Buffer, reply.raw)
  })
  await app.ready()
  return app.server
}

const FRONTS = {
  'node:http': () => createServer(onRequest(pass)),
  plain: () => createServer(onRequest(passPlainly)),
  Fastify: fastify,
  sockets: () => createSocketServer(joinSockets),
}
export type Front = keyof typeof FRONTS

const server = await FRONTS[process.env.FRONT as Front]()
server.listen(Number(process.env.PORT), '127.0.0.1')
