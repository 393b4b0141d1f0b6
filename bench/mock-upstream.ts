// An upstream that costs as little as Node allows: raw sockets, a fixed answer, or a stream of CHUNKS chunks, one every
// EVERY_MS, in the protocol that it is asked by: chat or Messages. FIRST_AT_ONCE sends the first chunk with the head, so
// that time to first token has no timer in it.
import { createServer, type Socket } from 'node:net'
import { messageReader } from './http1-message.ts'

const CHUNKS = Number(process.env.CHUNKS ?? 50)
const EVERY_MS = Number(process.env.EVERY_MS ?? 10)
const FIRST_AT_ONCE = process.env.FIRST_AT_ONCE === '1'

const usage = { prompt_tokens: 500, completion_tokens: CHUNKS, total_tokens: 500 + CHUNKS }
const common = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'bench' }
const message = { role: 'assistant', content: 'A short answer.' }
const whole = JSON.stringify({
  ...common,
  object: 'chat.completion',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage,
})
const event = (choices: unknown[], more = {}) =>
  `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...more })}\n\n`
const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const closing = `${event([{ index: 0, delta: {}, finish_reason: 'stop' }])}${event([], { usage })}data: [DONE]\n\n`

const sized = (body: string) =>
  Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
const ANSWER = sized(whole)
const READY = sized('{}')

const told = { input_tokens: 500, output_tokens: CHUNKS }
const said = { id: 'msg_bench', type: 'message', role: 'assistant', model: 'bench', stop_reason: 'end_turn' }
const answered = { ...said, content: [{ type: 'text', text: 'A short answer.' }], usage: told }
const named = (one: { type: string }) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`
const opening = [
  { type: 'message_start', message: { ...said, stop_reason: null, content: [], usage: { ...told, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
]
const word = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'word ' } }
const ending = [
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: told },
  { type: 'message_stop' },
]
const STREAM_HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)

interface Protocol {
  whole: Buffer
  head: Buffer
  part: Buffer
  end: Buffer
}

const CHAT: Protocol = {
  whole: ANSWER,
  head: STREAM_HEAD,
  part: Buffer.from(chunked(event([{ index: 0, delta: { content: 'word ' }, finish_reason: null }]))),
  end: Buffer.from(`${chunked(closing)}0\r\n\r\n`),
}
const MESSAGES: Protocol = {
  whole: sized(JSON.stringify(answered)),
  head: Buffer.concat([STREAM_HEAD, Buffer.from(chunked(opening.map(named).join('')))]),
  part: Buffer.from(chunked(named(word))),
  end: Buffer.from(`${chunked(ending.map(named).join(''))}0\r\n\r\n`),
}

function stream(socket: Socket, { head, part, end }: Protocol): void {
  let sent = FIRST_AT_ONCE ? 1 : 0
  socket.write(FIRST_AT_ONCE ? Buffer.concat([head, part]) : head)
  const timer = setInterval(() => {
    if (socket.destroyed) return clearInterval(timer)
    if (sent++ < CHUNKS) return void socket.write(part)
    clearInterval(timer)
    socket.write(end)
  }, EVERY_MS)
}

createServer((socket) => {
  let asks = false
  let streams = false
  let protocol = CHAT
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on(
    'data',
    messageReader({
      head(text) {
        asks = text.startsWith('POST')
        protocol = text.startsWith('POST /v1/messages') ? MESSAGES : CHAT
        streams = false
      },
      body(bytes, from, to) {
        streams ||= bytes.subarray(from, to).includes('"stream":true')
      },
      end() {
        if (!asks) return void socket.write(READY)
        if (streams) return stream(socket, protocol)
        socket.write(protocol.whole)
      },
    }),
  )
}).listen(Number(process.env.PORT), '127.0.0.1')
