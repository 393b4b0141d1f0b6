// Server-sent events, wherever the bytes are cut.
import { expect, test } from 'vitest'
import { EndlessEvent, EventReader } from './event-reader.ts'

function read(pieces: readonly Buffer[]) {
  const reader = new EventReader()
  return pieces.flatMap((piece) => reader.read(piece))
}

const cuts = (bytes: Buffer) => [
  [bytes],
  ...Array.from({ length: bytes.length }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]),
  Array.from(bytes, (byte) => Buffer.from([byte])),
]

test.each([
  ['an event', 'data: a\n\n', [['', 'a']]],
  [
    'two, with names',
    'event: x\ndata: a\n\nevent: y\ndata: b\n\n',
    [
      ['x', 'a'],
      ['y', 'b'],
    ],
  ],
  [
    'a name that holds for one event only',
    'event: x\ndata: a\n\ndata: b\n\n',
    [
      ['x', 'a'],
      ['', 'b'],
    ],
  ],
  ['several lines of data', 'data: a\ndata: b\ndata:\n\n', [['', 'a\nb\n']]],
  [
    'no blank behind the colon, or two',
    'data:a\n\ndata:  b\n\n',
    [
      ['', 'a'],
      ['', ' b'],
    ],
  ],
  ['comments, ids and fields that nobody knows', ': keep-alive\nid: 1\nretry: 5\nfoo\ndata: a\n\n', [['', 'a']]],
  ['no data, no event', 'event: x\n\n:\n\n', []],
  ['characters of several bytes', 'data: Grüße, 世界 👋\n\n', [['', 'Grüße, 世界 👋']]],
  ['an event that is not finished', 'data: a\n\ndata: b\n', [['', 'a']]],
])('R41 %s', (_case, text, expected) => {
  for (const end of ['\n', '\r\n', '\r'])
    for (const pieces of cuts(Buffer.from(text.replaceAll('\n', end))))
      expect(read(pieces).map(({ event, data }) => [event, data])).toEqual(expected)
})

test('T-86 a line without end is given up', () => {
  const reader = new EventReader()
  const piece = Buffer.alloc(1024 * 1024, 'x')
  expect(() => Array.from({ length: 20 }, () => reader.read(piece))).toThrow(EndlessEvent)
})

test.each([
  ['one line', `data: ${'x'.repeat(64 * 1024)}`],
  ['lines without a blank one', `data: ${'x'.repeat(64 * 1024)}\n`],
])('T-86 an event of %s that never ends is given up at 1 MiB', (_what, first) => {
  const reader = new EventReader()
  const piece = Buffer.from(first)
  expect(() => {
    for (let n = 0; n < 300; n++) reader.read(piece)
  }).toThrow(EndlessEvent)
})

test.each([
  ['data: a', [['', 'a']]],
  ['event: x\ndata: a\n', [['x', 'a']]],
  ['data: a\n\n', []],
  ['', []],
])('R41 after %j, the end of the stream ends %j', (text, expected) => {
  const reader = new EventReader()
  reader.read(Buffer.from(text))
  expect(reader.end().map(({ event, data }) => [event, data])).toEqual(expected)
})
