// How an HTTP/1.1 answer is read off the wire (RFC 9112), in whatever pieces it comes. Pure: bytes in, events out.
// Strict wherever leniency would let the two sides disagree about where an answer ends, because the next request's
// answer begins there.
const HEAD_MAX_BYTES = 32 * 1024
const LINE_MAX_BYTES = 4 * 1024
const TRAILERS_MAX_BYTES = 16 * 1024
const INTERIM_MAX = 16 // a server has little to say before its answer; one that never stops would keep us busy

export interface AnswerHead {
  status: number
  /** Only the headers that somebody here looks at, by lower-case name. */
  headers: ReadonlyMap<string, string>
}

export interface AnswerEvents {
  head(head: AnswerHead): void
  part(bytes: Buffer): void
  end(): void
}

/** The upstream does not speak HTTP/1.1, or stopped in the middle of it. */
export class WireError extends Error {
  override readonly name = 'WireError'
}

const WANTED = new Set([
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'retry-after',
  'transfer-encoding',
  'x-amzn-bedrock-cache-read-input-token-count',
  'x-amzn-bedrock-cache-write-input-token-count',
  'x-amzn-bedrock-input-token-count',
  'x-amzn-bedrock-output-token-count',
  'x-amzn-errortype',
  'x-amzn-requestid',
  'x-should-retry',
])
/** R81: they go on to clients of Anthropic's protocol, whatever they are called. */
export const TOLD_PREFIX = 'anthropic-'

type Stage = 'head' | 'length' | 'chunk_size' | 'chunk' | 'chunk_end' | 'trailers' | 'until_close' | 'ended'

const NOTHING = Buffer.alloc(0)
const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')

export class AnswerParser {
  readonly #events: AnswerEvents
  #stage: Stage = 'head'
  /** The beginning of a head or line whose end has not come yet. */
  #held: Buffer | undefined
  /** Bytes still to come of the body or of the chunk. */
  #left = 0
  #interim = 0
  #trailer_bytes = 0
  /** Whether another answer may follow on this connection; not where more came than the answer had. */
  keeps_alive = false

  constructor(events: AnswerEvents) {
    this.#events = events
  }

  /** Throws a WireError where the bytes make no sense. */
  read(bytes: Buffer): void {
    let rest = this.#held ? Buffer.concat([this.#held, bytes]) : bytes
    this.#held = undefined
    while (rest.length > 0 && this.#stage !== 'ended') rest = this.#step(rest)
  }

  get ended(): boolean {
    return this.#stage === 'ended'
  }

  /** The connection has ended: good where only that could end the answer, otherwise the answer was cut. */
  finish(): void {
    if (this.#stage === 'until_close') this.#end(NOTHING)
    else if (this.#stage !== 'ended') throw new WireError('the connection ended in the middle of the answer')
  }

  /** Nobody listens any more. */
  stop(): void {
    this.#stage = 'ended'
  }

  #step(bytes: Buffer): Buffer {
    switch (this.#stage) {
      case 'head':
        return this.#head(bytes)
      case 'length':
      case 'chunk':
        return this.#counted(bytes)
      case 'chunk_size':
        return this.#chunkSize(bytes)
      case 'chunk_end':
        return this.#chunkEnd(bytes)
      case 'trailers':
        return this.#trailer(bytes)
      default:
        this.#events.part(bytes)
        return NOTHING
    }
  }

  #head(bytes: Buffer): Buffer {
    const end = bytes.indexOf(HEAD_END)
    if (end > HEAD_MAX_BYTES || (end === -1 && bytes.length > HEAD_MAX_BYTES)) throw new WireError('a head too large')
    if (end === -1) return this.#hold(bytes)
    const { version, status, headers } = parseHead(bytes.toString('latin1', 0, end))
    const rest = bytes.subarray(end + HEAD_END.length)
    if (status < 200) {
      if (status === 101) throw new WireError('a change of protocol that nobody asked for')
      if (++this.#interim > INTERIM_MAX) throw new WireError('interim answers without end')
      return rest // the real one follows
    }
    this.#frame(version, status, headers)
    this.#events.head({ status, headers })
    return this.#stage === 'length' && this.#left === 0 ? this.#end(rest) : rest
  }

  /** RFC 9112 §6.3, without its lenient ways: two lengths at once are how answers get smuggled. */
  #frame(version: string, status: number, headers: ReadonlyMap<string, string>): void {
    const length = headers.get('content-length')
    const encoding = headers.get('transfer-encoding')
    const connection = headers.get('connection')?.toLowerCase() ?? ''
    this.keeps_alive = version === '1' ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection)
    if (encoding !== undefined) {
      if (length !== undefined) throw new WireError('both a length and an encoding')
      if (encoding.toLowerCase() !== 'chunked') throw new WireError('a transfer encoding other than chunked')
    }
    if (length !== undefined && !/^\d{1,15}$/.test(length)) throw new WireError('a length that is no number')
    if (status === 204 || status === 304) this.#expect('length', 0)
    else if (encoding !== undefined) this.#stage = 'chunk_size'
    else if (length !== undefined) this.#expect('length', Number(length))
    else {
      this.#stage = 'until_close'
      this.keeps_alive = false
    }
  }

  #expect(stage: 'length' | 'chunk', bytes: number): void {
    this.#stage = stage
    this.#left = bytes
  }

  #counted(bytes: Buffer): Buffer {
    const is_last = bytes.length >= this.#left
    const part = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes
    this.#left -= part.length
    const stage = this.#stage
    this.#events.part(part)
    if (this.#stage !== stage) return NOTHING // stopped by whoever took the part
    const rest = bytes.subarray(part.length)
    if (!is_last) return rest
    if (stage === 'length') return this.#end(rest)
    this.#stage = 'chunk_end'
    return rest
  }

  #chunkSize(bytes: Buffer): Buffer {
    const end = bytes.indexOf(LINE_END)
    if (end === -1 || end > LINE_MAX_BYTES) return this.#holdLine(bytes)
    const size = chunkSize(bytes, end)
    if (size === 0) this.#stage = 'trailers'
    else this.#expect('chunk', size)
    return bytes.subarray(end + LINE_END.length)
  }

  #chunkEnd(bytes: Buffer): Buffer {
    if (bytes.length < LINE_END.length && bytes[0] === LINE_END[0]) return this.#hold(bytes)
    if (bytes[0] !== LINE_END[0] || bytes[1] !== LINE_END[1]) throw new WireError('a chunk longer than it said')
    this.#stage = 'chunk_size'
    return bytes.subarray(LINE_END.length)
  }

  #trailer(bytes: Buffer): Buffer {
    const end = bytes.indexOf(LINE_END)
    if (end === -1 || end > LINE_MAX_BYTES) return this.#holdLine(bytes)
    this.#trailer_bytes += end
    if (this.#trailer_bytes > TRAILERS_MAX_BYTES) throw new WireError('trailers too large')
    const rest = bytes.subarray(end + LINE_END.length)
    return end === 0 ? this.#end(rest) : rest
  }

  #holdLine(bytes: Buffer): Buffer {
    if (bytes.length > LINE_MAX_BYTES) throw new WireError('a line too long')
    return this.#hold(bytes)
  }

  #hold(bytes: Buffer): Buffer {
    this.#held = bytes
    return NOTHING
  }

  #end(excess: Buffer): Buffer {
    this.#stage = 'ended'
    if (excess.length > 0) this.keeps_alive = false // nothing that follows here can be trusted
    this.#events.end()
    return NOTHING
  }
}

const SIZE_DIGITS_MAX = 13 // 2^52
const EXTENSION = /^[ \t]*(;|$)/

/** Read digit by digit: there is one of these for every token of a stream. */
function chunkSize(line: Buffer, end: number): number {
  let size = 0
  let at = 0
  for (; at < end; at++) {
    const digit = hexDigit(line[at] as number)
    if (digit === -1) break
    size = size * 16 + digit
  }
  const is_plain = at === end || EXTENSION.test(line.toString('latin1', at, end))
  if (at === 0 || at > SIZE_DIGITS_MAX || !is_plain) throw new WireError('a chunk whose size is no number')
  return size
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const upper = code & ~32
  return upper >= 65 && upper <= 70 ? upper - 55 : -1
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [^\r\n]*)?/
// A blank before the colon, a folded line or a bare line break is read differently by different programs.
const HEADER_LINE = /\r\n([!#-'*+.\w^`|~-]+):[ \t]*([^\r\n]*)/y

function parseHead(text: string): { version: string; status: number; headers: Map<string, string> } {
  const [status_line, version = '', status = ''] = STATUS_LINE.exec(text) ?? []
  if (status_line === undefined) throw new WireError('not an HTTP/1.1 answer')
  const headers = new Map<string, string>()
  for (let at = status_line.length; at < text.length; at = HEADER_LINE.lastIndex) {
    HEADER_LINE.lastIndex = at
    const line = HEADER_LINE.exec(text)
    if (!line) throw new WireError('a malformed header')
    const name = (line[1] as string).toLowerCase()
    if (WANTED.has(name) || name.startsWith(TOLD_PREFIX)) note(headers, name, (line[2] as string).trimEnd())
  }
  return { version, status: Number(status), headers }
}

function note(headers: Map<string, string>, name: string, value: string): void {
  const before = headers.get(name)
  if (before === undefined || before === value) headers.set(name, value)
  else if (/^content-length$|^transfer-encoding$/.test(name)) throw new WireError(`two ${name} headers that differ`)
  else headers.set(name, `${before}, ${value}`)
}
