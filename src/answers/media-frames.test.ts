// What a stream of images or sound tells of what it took, whatever its upstream says.
import { expect, test } from 'vitest'
import type { MediaTold } from '../media/media-usage.ts'
import { mediaEvents } from './media-frames.ts'

const event = (one: object) => Buffer.from(`data: ${JSON.stringify(one)}\n\n`)
const preview = event({ type: 'image_generation.partial_image', b64_json: 'AAAA' })
const drawn = event({ type: 'image_edit.completed', b64_json: 'AAAA' })

function told(wanted: number, events: readonly Buffer[], is_over = false): MediaTold {
  const frames = mediaEvents(wanted)
  for (const one of events) frames.push(one)
  if (is_over) frames.end()
  return frames.usage() as MediaTold
}

test('R77 of the usage of many events only what is known here is kept, however many names they have', () => {
  const EVENTS = 50
  const events = Array.from({ length: EVENTS }, (_, n) => {
    const strange = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`${n}_${at}`, 1]))
    return event({ type: 'image_generation.partial_image', usage: { ...strange, input_tokens: 2, output_tokens: 3 } })
  })
  expect(told(1, events).usage).toEqual({ input_tokens: 2 * EVENTS, output_tokens: 3 * EVENTS })
})

test('R77 each event tells its own, parts among them; one count that cannot be makes a sum that cannot be', () => {
  const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12, input_tokens_details: { image_tokens: 4, x: 1 } }
  const one = event({ type: 'image_generation.completed', usage })
  expect(told(2, [one, one]).usage).toEqual({
    ...{ input_tokens: 10, output_tokens: 14, total_tokens: 24 },
    input_tokens_details: { image_tokens: 8 },
  })
  const wrong = event({ type: 'image_generation.completed', usage: { input_tokens: -5, output_tokens: 7 } })
  expect(told(2, [one, wrong]).usage).toMatchObject({ input_tokens: Number.NaN, output_tokens: 14 })
})

test.each<[string, number, readonly Buffer[], boolean, number]>([
  ['nothing of them has come', 2, [event({ type: 'image_generation.in_queue' }).subarray(0, 5)], false, 0],
  ['a preview of one is there: all are being drawn', 2, [preview], false, 2],
  ['one is there', 2, [preview, drawn], false, 2],
  ['all are there', 2, [drawn, drawn], false, 2],
  ['it is over, and there are fewer', 2, [preview, drawn], true, 1],
])('R42, R26 images of a stream, where %s', (_what, wanted, events, is_over, images) => {
  expect(told(wanted, events, is_over).images).toBe(images)
})
