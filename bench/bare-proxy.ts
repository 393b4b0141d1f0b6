// The reference for the inference path: node:http in front, undici's dispatch behind, bytes passed on, nothing else.
import { createServer } from 'node:http'
import { Pool } from 'undici'

const pool = new Pool(process.env.UPSTREAM as string, { connections: 256, pipelining: 1 })

createServer((request, response) => {
  if (request.method === 'GET') return void response.end('{}')
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const headers = { 'content-type': 'application/json' }
    pool.dispatch(
      { path: request.url as string, method: 'POST', headers, body: Buffer.concat(parts) },
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
  })
}).listen(Number(process.env.PORT), '127.0.0.1')
