// Writes AWS's binary event stream, for what pretends to be Bedrock.
import { crc32 } from 'node:zlib'

export function eventMessage(headers: Readonly<Record<string, string>>, payload: Buffer | string): Buffer {
  const body = Buffer.from(payload)
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const text = Buffer.from(value)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(text.length)
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, text])
    }),
  )
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(16 + head.length + body.length, 0)
  prelude.writeUInt32BE(head.length, 4)
  const all = Buffer.concat([prelude, checksum(prelude), head, body])
  return Buffer.concat([all, checksum(all)])
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(bytes))
  return sum
}

/** An event of Claude's, as InvokeModelWithResponseStream carries it. */
export const chunkMessage = (event: unknown): Buffer =>
  eventMessage(
    { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify({
      bytes: Buffer.from(typeof event === 'string' ? event : JSON.stringify(event)).toString('base64'),
      p: 'abcdefghijklm',
    }),
  )

export const exceptionMessage = (kind: string, message: string): Buffer =>
  eventMessage(
    { ':exception-type': kind, ':content-type': 'application/json', ':message-type': 'exception' },
    JSON.stringify({ message }),
  )
