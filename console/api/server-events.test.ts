// Server-sent events, cut anywhere.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { serverEvents } from './server-events.ts'

const EVENTS = [{ type: 'a', text: 'one\ntwo' }, { type: 'b', text: 'ünï' }, { type: 'c' }]

const written = (newline: string) =>
  [': a comment', '', ...EVENTS.flatMap((event) => [`event: ${event.type}`, `data: ${JSON.stringify(event)}`, ''])]
    .concat('data: [DONE]', '', '')
    .join(newline)

test('R41 a stream gives the same events wherever it is cut, however its lines end', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      (newline, sizes) => {
        const stream = serverEvents()
        const text = written(newline)
        const found: unknown[] = []
        for (let at = 0, turn = 0; at < text.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1
          found.push(...stream.push(text.slice(at, at + size)))
          at += size
        }
        expect(found).toEqual(EVENTS)
      },
    ),
    { numRuns: 200 },
  )
})

test('R41 an event that is not whole yet is not told', () => {
  const stream = serverEvents()
  expect(stream.push('data: {"type":"a"}\n')).toEqual([])
  expect(stream.push('\n')).toEqual([{ type: 'a' }])
})
