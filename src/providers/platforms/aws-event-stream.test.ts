// 0302: AWS's event stream, against the vectors that its SDKs are tested with.
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventMessage } from '../../../test/support/aws-event-stream.ts'
import { EventStreamError, EventStreamReader } from './aws-event-stream.ts'

const KIB = 1024
const read = (bytes: Buffer, most = 64 * KIB) => new EventStreamReader(most).read(bytes)
const of = (hex: string) => Buffer.from(hex.replace(/\s/g, ''), 'hex')

const ONE_HEADER =
  '0000003d 00000020 07fd8396 0c 636f6e74656e742d74797065 07 0010 6170706c69636174696f6e2f6a736f6e 7b27666f6f273a27626172277d 8d9c08b1'
const NO_HEADER = '0000001d 00000000 fd528c5a 7b27666f6f273a27626172277d c3653936'
const INTEGER = '0000002b 0000000e 348bec7b 08 6576656e742d6964 04 0000a00c 7b27666f6f273a27626172277d d3890285'
const PAYLOAD = "{'foo':'bar'}"

describe('0302 AWS’s vectors', () => {
  test.each([
    ['empty_message', '00000010 00000000 05c248eb 7d98c8ff', {}, ''],
    ['payload_no_headers', NO_HEADER, {}, PAYLOAD],
    ['payload_one_str_header', ONE_HEADER, { 'content-type': 'application/json' }, PAYLOAD],
    ['int32_header', INTEGER, {}, PAYLOAD],
  ])('%s', (_name, hex, headers, payload) => {
    const [message, ...more] = read(of(hex))
    expect([Object.fromEntries(message?.headers ?? []), String(message?.payload), more]).toEqual([headers, payload, []])
  })

  test.each([
    ['corrupted_headers', ONE_HEADER.replace('636f6e74656e742d', '636f6e74656e742b')],
    ['corrupted_header_len', ONE_HEADER.replace('00000020', '00000120')],
    ['corrupted_length', NO_HEADER.replace('0000001d', '0100001d')],
    ['corrupted_payload', NO_HEADER.replace('277d c365', '278d c365')],
  ])('%s is refused', (_name, hex) => {
    expect(() => read(of(hex))).toThrow(EventStreamError)
  })
})

test('0302 in whatever pieces it comes, the same messages', () => {
  const headers = fc.dictionary(fc.stringMatching(/^[a-z:-]{1,20}$/), fc.string({ maxLength: 40 }), { maxKeys: 4 })
  const message = fc.tuple(headers, fc.uint8Array({ maxLength: 300 }))
  fc.assert(
    fc.property(fc.array(message, { maxLength: 5 }), fc.integer({ min: 1, max: 400 }), (sent, size) => {
      const bytes = Buffer.concat(sent.map(([head, body]) => eventMessage(head, Buffer.from(body))))
      const reader = new EventStreamReader(64 * KIB)
      const got = []
      for (let at = 0; at < bytes.length; at += size) got.push(...reader.read(bytes.subarray(at, at + size)))
      expect(got.map(({ headers: head, payload }) => [Object.fromEntries(head), [...payload]])).toEqual(
        sent.map(([head, body]) => [{ ...head }, [...body]]),
      )
      expect(reader.is_amid).toBe(false)
    }),
    { numRuns: 100 },
  )
})

test('0302 one flipped bit anywhere is seen', () => {
  const bytes = eventMessage({ ':event-type': 'chunk' }, '{"bytes":"e30="}')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
    expect(() => read(flipped)).toThrow(EventStreamError)
  }
})

test('R77 a message beyond the bound is refused by its prelude, before any of it is held', () => {
  const large = eventMessage({}, Buffer.alloc(70 * KIB))
  expect(() => read(large.subarray(0, 12))).toThrow(expect.objectContaining({ is_too_large: true }))
  expect(read(large, 80 * KIB)).toHaveLength(1)
})

test.each([
  ['a type that nobody knows', [1, 0x61, 12]],
  ['a text that is cut', [1, 0x61, 7, 0, 9, 0x61]],
  ['a name that is cut', [9, 0x61]],
  ['a length that is cut', [1, 0x61, 7, 0]],
])('0302 a header with %s is refused', (_case, head) => {
  const block = Buffer.from(head)
  const prelude = Buffer.alloc(8)
  prelude.writeUInt32BE(16 + block.length, 0)
  prelude.writeUInt32BE(block.length, 4)
  const start = Buffer.concat([prelude, checksum(prelude), block])
  expect(() => read(Buffer.concat([start, checksum(start)]))).toThrow(EventStreamError)
})

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(bytes))
  return sum
}
