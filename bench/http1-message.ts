// Where one HTTP/1.1 message ends and the next begins, and nothing more: what the load and the upstream share.
// It copies nothing unless a head or a line arrives in pieces, so that neither of them is what is measured.

export interface MessageParts {
  /** The first line and the headers, each ended by CRLF. */
  head(text: string): void
  /** Bytes of the body, as they came; those of a chunked one without their frames. */
  body(bytes: Buffer, from: number, to: number): void
  end(): void
}

const NOTHING: Buffer = Buffer.alloc(0)
const LENGTH = /\r\ncontent-length: *(\d+)/i
const CHUNKED = /\r\ntransfer-encoding: *chunked/i

/** Takes the bytes of a connection, in any pieces. A message with neither length nor chunks has no body. */
export function messageReader(parts: MessageParts): (bytes: Buffer) => void {
  let state: 'head' | 'sized' | 'chunk-size' | 'chunk' | 'after-chunk' | 'trailers' = 'head'
  let kept = NOTHING
  let left = 0

  const finish = () => {
    state = 'head'
    parts.end()
  }
  const begin = (head: string) => {
    parts.head(head)
    left = Number(LENGTH.exec(head)?.[1] ?? 0)
    if (left > 0) state = 'sized'
    else if (CHUNKED.test(head)) state = 'chunk-size'
    else finish()
  }
  const line = (text: string) => {
    if (state === 'trailers') return text === '' ? finish() : undefined
    if (state === 'after-chunk') state = 'chunk-size'
    else {
      left = Number.parseInt(text, 16)
      state = left === 0 ? 'trailers' : 'chunk'
    }
  }

  return (bytes) => {
    const data = kept.length === 0 ? bytes : Buffer.concat([kept, bytes])
    kept = NOTHING
    for (let at = 0; at < data.length; ) {
      if (state === 'sized' || state === 'chunk') {
        const to = Math.min(data.length, at + left)
        parts.body(data, at, to)
        left -= to - at
        at = to
        if (left > 0) return
        if (state === 'sized') finish()
        else state = 'after-chunk'
        continue
      }
      const mark = state === 'head' ? '\r\n\r\n' : '\r\n'
      const found = data.indexOf(mark, at, 'latin1')
      if (found < 0) {
        kept = data.subarray(at)
        return
      }
      const from = at
      at = found + mark.length
      if (state === 'head') begin(data.toString('latin1', from, found + 2))
      else line(data.toString('latin1', from, found))
    }
  }
}
