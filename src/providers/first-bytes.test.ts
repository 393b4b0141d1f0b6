// The beginning of an answer: in bounds of size and time, and what had come by then.
import { expect, test } from 'vitest'
import { soonRead, upTo } from './first-bytes.ts'
import { preparedAnswer } from './prepared-answer.ts'

const signal = new AbortController().signal
const answerOf = (...parts: string[]) =>
  preparedAnswer({ status: 500, content_type: '', parts: parts.map((part) => Buffer.from(part)) }, signal)

test.each([
  [4, 'abcd', true],
  [3, 'abc', false],
  [2, 'ab', false],
])('R77 up to %i bytes of four', async (most, text, is_whole) => {
  const { bytes, ...told } = await upTo(most, answerOf('ab', 'cd'))
  expect([String(bytes), told]).toEqual([text, { is_whole }])
})

test('R77 a wire that breaks is for whoever wants it whole', async () => {
  const broken = { each: () => Promise.reject(new Error('broken')), cancel: () => {} }
  await expect(upTo(10, broken)).rejects.toThrow('broken')
  expect(await soonRead(10, 60_000, broken)).toHaveLength(0)
})

test('R80 what has come is taken, whatever is still to come; and the wire is let go of', async () => {
  let cancelled = 0
  const endless = {
    each(take: (part: Buffer) => void | Promise<void>) {
      take(Buffer.from('words'))
      return new Promise<void>(() => {})
    },
    cancel: () => void cancelled++,
  }
  expect(String(await soonRead(100, 1, endless))).toBe('words')
  expect(String(await soonRead(3, 1, answerOf('words')))).toBe('wor')
  expect(cancelled).toBe(1)
})
