// The wire's grammar: every framing, at every split, and everything that must not be believed.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type AnswerHead, AnswerParser, WireError } from './http1-answer.ts'

interface Read {
  heads: AnswerHead[]
  body: string
  ended: boolean
  keeps_alive: boolean
}

function read(pieces: readonly (string | Buffer)[], { finish = false } = {}): Read {
  const heads: AnswerHead[] = []
  const parts: Buffer[] = []
  let ends = 0
  const parser = new AnswerParser({
    head: (head) => heads.push(head),
    part: (bytes) => parts.push(bytes),
    end: () => ends++,
  })
  for (const piece of pieces) parser.read(Buffer.from(piece as string, 'latin1'))
  if (finish) parser.finish()
  expect(ends).toBeLessThanOrEqual(1)
  const body = Buffer.concat(parts).toString('latin1')
  return { heads, body, ended: ends === 1, keeps_alive: parser.keeps_alive }
}

const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`
const OK = 'HTTP/1.1 200 OK'

describe('R41 where an answer ends', () => {
  test.each([
    ['a length', `${head(OK, 'Content-Length: 5')}hello`, 'hello', true],
    ['a length of nothing', head(OK, 'Content-Length: 0'), '', true],
    ['two lengths that agree', `${head(OK, 'Content-Length: 5', 'Content-Length: 5')}hello`, 'hello', true],
    [
      'chunks',
      `${head(OK, 'Transfer-Encoding: chunked')}5\r\nhello\r\nA\r\n, chunked!\r\n0\r\n\r\n`,
      'hello, chunked!',
      true,
    ],
    ['an extension', `${head(OK, 'transfer-encoding: Chunked')}5;name="v"\r\nhello\r\n0;last\r\n\r\n`, 'hello', true],
    ['trailers', `${head(OK, 'transfer-encoding: chunked')}1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n`, 'x', true],
    ['no content', head('HTTP/1.1 204 No Content'), '', true],
    [
      'not modified, with the length it would have had',
      head('HTTP/1.1 304 Not Modified', 'Content-Length: 9'),
      '',
      true,
    ],
    ['no reason phrase', `${head('HTTP/1.1 200', 'Content-Length: 2')}ok`, 'ok', true],
    [
      'an interim answer first',
      `${head('HTTP/1.1 103 Early Hints', 'Link: x') + head(OK, 'Content-Length: 2')}ok`,
      'ok',
      true,
    ],
    ['a connection that closes', `${head(OK, 'Content-Length: 2', 'Connection: close')}ok`, 'ok', false],
    ['HTTP/1.0', `${head('HTTP/1.0 200 OK', 'Content-Length: 2')}ok`, 'ok', false],
    ['HTTP/1.0 that stays', `${head('HTTP/1.0 200 OK', 'Content-Length: 2', 'Connection: Keep-Alive')}ok`, 'ok', true],
    ['a second answer behind it', `${head(OK, 'Content-Length: 2')}okHTTP/1.1 200 OK`, 'ok', false],
    ['rubbish behind the chunks', `${head(OK, 'transfer-encoding: chunked')}0\r\n\r\nmore`, '', false],
  ])('%s, however the bytes are split', (_case, text, body, keeps_alive) => {
    for (const pieces of splits(text)) {
      const answer = read(pieces)
      expect({ body: answer.body, ended: answer.ended, heads: answer.heads.length }).toEqual({
        body,
        ended: true,
        heads: 1,
      })
      // Excess in a later piece is the connection's to notice: by then it belongs to nobody.
      if (pieces.length === 1) expect(answer.keeps_alive).toBe(keeps_alive)
    }
  })

  test('the end of the connection, where nothing else ends the answer', () => {
    const answer = read([head(OK, 'Content-Type: text/plain'), 'all ', 'there is'], { finish: true })
    expect(answer).toMatchObject({ body: 'all there is', ended: true, keeps_alive: false })
  })

  test.each([
    ['before the head', ''],
    ['in the head', 'HTTP/1.1 200 OK\r\nContent-'],
    ['in a counted body', `${head(OK, 'Content-Length: 5')}hell`],
    ['in a chunk', `${head(OK, 'transfer-encoding: chunked')}5\r\nhell`],
    ['between chunks', `${head(OK, 'transfer-encoding: chunked')}5\r\nhello\r\n`],
    ['before the last blank line', `${head(OK, 'transfer-encoding: chunked')}0\r\n`],
  ])('R47 a connection that ends %s is a cut, never a clean end', (_case, text) => {
    expect(() => read([text], { finish: true })).toThrow(WireError)
  })
})

/** Whole; cut in two at every place; and byte by byte. */
function splits(text: string): string[][] {
  const halves = Array.from({ length: text.length - 1 }, (_, at) => [text.slice(0, at + 1), text.slice(at + 1)])
  return [[text], ...halves, [...text]]
}

describe('T-86 what is not believed', () => {
  test.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
    ['HTTP/2 in the clear', 'PRI * HTTP/2.0\r\n\r\n'],
    ['a status of four digits', head('HTTP/1.1 2000 OK')],
    ['a status of 600', head('HTTP/1.1 600 Odd')],
    ['R77 more interim answers than anybody sends', head('HTTP/1.1 103 Early Hints').repeat(17)],
    ['an unasked change of protocol', head('HTTP/1.1 101 Switching Protocols', 'Upgrade: h2c')],
    ['a length and an encoding', head(OK, 'Content-Length: 5', 'Transfer-Encoding: chunked')],
    ['two lengths', head(OK, 'Content-Length: 5', 'Content-Length: 6')],
    ['a negative length', head(OK, 'Content-Length: -1')],
    ['a signed length', head(OK, 'Content-Length: +5')],
    ['a length in hex', head(OK, 'Content-Length: 0x5')],
    ['a list of lengths', head(OK, 'Content-Length: 5, 5')],
    ['a length beyond counting', head(OK, `Content-Length: ${'9'.repeat(16)}`)],
    ['another encoding', head(OK, 'Transfer-Encoding: gzip, chunked')],
    ['an encoding named twice', head(OK, 'Transfer-Encoding: chunked, chunked')],
    ['a folded header', head(OK, 'A: b', ' c')],
    ['a blank before the colon', head(OK, 'Content-Length : 5')],
    ['a header without a colon', head(OK, 'Content-Length 5')],
    ['a header without a name', head(OK, ': 5')],
    ['a chunk without a size', `${head(OK, 'transfer-encoding: chunked')}\r\nhello`],
    ['a chunk of 0x5', `${head(OK, 'transfer-encoding: chunked')}0x5\r\nhello`],
    ['a chunk of a negative size', `${head(OK, 'transfer-encoding: chunked')}-5\r\nhello`],
    ['a chunk beyond counting', `${head(OK, 'transfer-encoding: chunked')}${'F'.repeat(14)}\r\n`],
    ['a chunk longer than it said', `${head(OK, 'transfer-encoding: chunked')}5\r\nhello!\r\n`],
    ['an endless head', `${OK}\r\nA: ${'a'.repeat(40_000)}`],
    ['an endless head that ends', head(OK, `A: ${'a'.repeat(40_000)}`)],
    ['an endless chunk line', `${head(OK, 'transfer-encoding: chunked')}5;${'a'.repeat(5_000)}`],
    ['endless trailers', `${head(OK, 'transfer-encoding: chunked')}0\r\n${`A: ${'a'.repeat(4_000)}\r\n`.repeat(5)}`],
  ])('%s', (_case, text) => {
    expect(() => read([text])).toThrow(WireError)
    expect(() => read([...text])).toThrow(WireError)
  })

  test('random bytes are read or refused, and never make it hang or fail otherwise', () => {
    const bytes = fc.array(fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(...FRAGMENTS)), { maxLength: 12 })
    fc.assert(
      fc.property(bytes, (pieces) => {
        try {
          read(pieces.map((piece) => Buffer.from(piece as string)))
        } catch (error) {
          expect(error).toBeInstanceOf(WireError)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

const FRAGMENTS = [OK, '\r\n', '\r\n\r\n', 'Content-Length: 3', 'Transfer-Encoding: chunked', '3\r\nabc\r\n', '0\r\n']

test('R41 what a node:http server sends is read back as it was sent, in random pieces', async () => {
  const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 6 })
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  await fc.assert(
    fc.asyncProperty(
      bodies,
      fc.boolean(),
      fc.infiniteStream(fc.integer({ min: 1, max: 50 })),
      async (parts, counted, sizes) => {
        const whole = Buffer.concat(parts)
        const raw = await rawAnswer(server, (_request, response) => {
          if (counted) response.setHeader('content-length', whole.length)
          for (const part of parts) response.write(part)
          response.end()
        })
        const answer = read(cutUp(raw, () => sizes.next().value as number))
        expect([answer.ended, answer.body]).toEqual([true, whole.toString('latin1')])
      },
    ),
    { numRuns: 60 },
  )
})

function cutUp(bytes: Buffer, size: () => number): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + size()
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

async function rawAnswer(server: ReturnType<typeof createServer>, handler: Handler): Promise<Buffer> {
  server.removeAllListeners('request').once('request', handler)
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part as Buffer)
  return Buffer.concat(parts)
}
