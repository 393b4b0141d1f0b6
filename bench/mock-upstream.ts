// An upstream that costs as little as Node allows: a fixed chat answer, or a stream of fifty chunks, one every 10 ms.
import { createServer } from 'node:http'

const CHUNKS = 50
const EVERY_MS = 10

const usage = { prompt_tokens: 500, completion_tokens: 50, total_tokens: 550 }
const whole = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'bench',
  choices: [{ index: 0, message: { role: 'assistant', content: 'A short answer.' }, finish_reason: 'stop' }],
  usage,
})
const chunk = (choices: unknown[], more = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'bench', choices, ...more })}\n\n`
const part = chunk([{ index: 0, delta: { content: 'word ' }, finish_reason: null }])
const last = `${chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])}${chunk([], { usage })}data: [DONE]\n\n`

createServer((request, response) => {
  if (request.method === 'GET') return void response.end('{}')
  let streams = false
  request.on('data', (bytes: Buffer) => {
    streams ||= bytes.includes('"stream":true')
  })
  request.on('end', () => {
    if (!streams) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length })
      return void response.end(whole)
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let sent = 0
    const timer = setInterval(() => {
      if (sent++ < CHUNKS) return void response.write(part)
      clearInterval(timer)
      response.end(last)
    }, EVERY_MS)
    response.once('close', () => clearInterval(timer))
  })
}).listen(Number(process.env.PORT), '127.0.0.1')
