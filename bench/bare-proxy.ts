// The reference for the inference path: node:http in front, undici's dispatch behind, bytes passed on, nothing else.
// With FASTIFY set, Fastify stands in front, with no schema, no hook and no log: what the framework alone costs.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
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

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  if (request.method === 'GET') return void response.end('{}')
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => pass(request.url as string, Buffer.concat(parts), response))
}

const port = Number(process.env.PORT)
if (process.env.FASTIFY) {
  const app = Fastify({ bodyLimit: 16 * 1024 * 1024 })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.get('/', (_request, reply) => void reply.send('{}'))
  app.post('/v1/chat/completions', (request, reply) => {
    reply.hijack()
    pass(request.url, request.body as Buffer, reply.raw)
  })
  await app.listen({ port, host: '127.0.0.1' })
} else createServer(onRequest).listen(port, '127.0.0.1')
