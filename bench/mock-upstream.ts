// An upstream that costs as little as Node allows: raw sockets, a fixed chat answer, or a stream of CHUNKS chunks, one
// every EVERY_MS. FIRST_AT_ONCE sends the first chunk with the head, so that time to first token has no timer in it.
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
const STREAM_HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
)
const STREAM_PART = Buffer.from(chunked(event([{ index: 0, delta: { content: 'word ' }, finish_reason: null }])))
const STREAM_END = Buffer.from(`${chunked(closing)}0\r\n\r\n`)

function stream(socket: Socket): void {
  let sent = FIRST_AT_ONCE ? 1 : 0
  socket.write(FIRST_AT_ONCE ? Buffer.concat([STREAM_HEAD, STREAM_PART]) : STREAM_HEAD)
  const timer = setInterval(() => {
    if (socket.destroyed) return clearInterval(timer)
    if (sent++ < CHUNKS) return void socket.write(STREAM_PART)
    clearInterval(timer)
    socket.write(STREAM_END)
  }, EVERY_MS)
}

createServer((socket) => {
  let asks = false
  let streams = false
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on(
    'data',
    messageReader({
      head(text) {
        asks = text.startsWith('POST')
        streams = false
      },
      body(bytes, from, to) {
        streams ||= bytes.subarray(from, to).includes('"stream":true')
      },
      end() {
        if (!asks) return void socket.write(READY)
        if (streams) return stream(socket)
        socket.write(ANSWER)
      },
    }),
  )
}).listen(Number(process.env.PORT), '127.0.0.1')
