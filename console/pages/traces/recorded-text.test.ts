// §8.2 what was recorded, as the trace page shows it.
import { expect, test } from 'vitest'
import { readable } from './recorded-text.ts'

test('§8.2 JSON is shown in lines, events with theirs, and anything else as it is', () => {
  expect(readable('{"model":"m","n":1} \n')).toBe('{\n  "model": "m",\n  "n": 1\n}')
  expect(readable(': alive\n\nevent: x\ndata: {"a":1}\n\ndata: [DONE]\n\n')).toBe(
    ': alive\n\nevent: x\ndata: {\n  "a": 1\n}\n\ndata: [DONE]\n\n',
  )
  expect(readable('plain')).toBe('plain')
})
