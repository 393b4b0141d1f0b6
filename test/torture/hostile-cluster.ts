// What the attacker of a hostile run owns, as a program: a cluster whose answers are meant to hurt whoever reads them,
// chosen by the name of the model, and beside it a service that is not the attacker's and that nobody may reach.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setPriority } from 'node:os'
import { CLUSTER_ADDRESS, type ClusterReady } from './hostile-cluster-place.ts'
import { readyHere } from './told-here.ts'

const MB = 1_000_000

setPriority(10)

/** `{"choices":[[],[],…]}`: little to send, much to walk. */
const emptyChoices = (bytes: number) => Buffer.from(`{"choices":[${'[],'.repeat(bytes / 3)}[]]}`)
const made = new Map<string, Buffer>()

function once(name: string, make: () => Buffer): Buffer {
  const bytes = made.get(name) ?? make()
  made.set(name, bytes)
  return bytes
}

const ABSURD = 2 ** 53 - 1
const message = (content: string) => ({ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' })
const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
const answer = (content: string, told: object = usage) =>
  Buffer.from(
    JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, choices: [message(content)], usage: told }),
  )

const INTERIM = Buffer.from('HTTP/1.1 102 Processing\r\n\r\n'.repeat(40_000))
const HEADERS = Buffer.from(`HTTP/1.1 200 OK\r\n${`x-flood: ${'a'.repeat(200)}\r\n`.repeat(40_000)}`)
const FLOOD_PARTS = 16

/** By model. What is not here is answered in an ordinary way. */
const ANSWERS: Record<string, (response: ServerResponse) => void> = {
  'giant-8': (response) =>
    whole(
      response,
      once('giant-8', () => emptyChoices(8 * MB)),
    ),
  'giant-63': (response) =>
    whole(
      response,
      once('giant-63', () => emptyChoices(63 * MB)),
    ),
  'giant-error': (response) =>
    whole(
      response,
      once('giant-8', () => emptyChoices(8 * MB)),
      500,
    ),
  'giant-event': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const data = once('giant-8', () => emptyChoices(8 * MB))
    response.end(Buffer.concat([Buffer.from('data: '), data, Buffer.from('\n\ndata: [DONE]\n\n')]))
  },
  'long-text': (response) =>
    whole(
      response,
      once('long-text', () => answer('kept '.repeat((12 * MB) / 5))),
    ),
  absurd: (response) => {
    const prompt_tokens_details = { cached_tokens: ABSURD, cache_write_tokens: ABSURD }
    const told = { prompt_tokens: ABSURD, completion_tokens: ABSURD, total_tokens: ABSURD, prompt_tokens_details }
    whole(response, answer('ok', told))
  },
  interim: (response) => flood(response, INTERIM),
  'header-flood': (response) => flood(response, HEADERS),
}

function whole(response: ServerResponse, bytes: Buffer, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length })
  response.end(bytes)
}

/** Past Node's own manners, and no faster than it is read. */
async function flood({ socket }: ServerResponse, bytes: Buffer): Promise<void> {
  for (let part = 0; part < FLOOD_PARTS && socket && !socket.destroyed; part++)
    await new Promise((resolve) => socket.write(bytes, resolve))
  socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
}

const cluster = createServer({ keepAliveTimeout: 60_000 }, async (incoming, response) => {
  response.on('error', () => {})
  const parts: Buffer[] = []
  try {
    for await (const part of incoming) parts.push(part as Buffer)
  } catch {
    return
  }
  const model = /"model"\s*:\s*"([^"]*)"/.exec(Buffer.concat(parts).toString('latin1', 0, 4_096))?.[1] ?? ''
  const answers = ANSWERS[model] ?? ((own: ServerResponse) => whole(own, answer('ok')))
  answers(response)
})
cluster.on('connection', (socket) => socket.on('error', () => {}))

let reached: string[] = []
const internal = createServer((incoming, response) => {
  reached.push(`${incoming.method} ${incoming.url}`)
  whole(response, answer('the secrets of the operator'))
})

process.on('message', () => {
  process.send?.({ reached })
  reached = []
})

await new Promise<void>((resolve) => cluster.listen(0, CLUSTER_ADDRESS, resolve))
await new Promise<void>((resolve) => internal.listen(0, '127.0.0.1', resolve))
const portOf = (server: typeof cluster) => (server.address() as AddressInfo).port
const ready: ClusterReady = {
  endpoint: `http://${CLUSTER_ADDRESS}:${portOf(cluster)}/v1`,
  internal_port: portOf(internal),
}
readyHere(ready)
