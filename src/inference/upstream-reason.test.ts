import { expect, test } from 'vitest'
import { whatWasRefused } from './upstream-reason.ts'

const refused = (body: unknown) => whatWasRefused(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))

test('R2 an envelope that clients know goes on as it is', () => {
  expect(refused({ error: { message: 'no', type: 'x' } })).toEqual({ is_envelope: true, reason: 'no' })
})

test.each([
  ['vLLM', { object: 'error', message: "This model's maximum context length is 4096 tokens." }, /maximum context/],
  ['text-generation-inference', { error: 'Input validation error', error_type: 'validation' }, /^Input validation/],
  ['FastAPI, in a word', { detail: 'Not so' }, /^Not so$/],
  ['FastAPI, by field', { detail: [{ loc: ['body', 'messages', 0], msg: 'Field required' }] }, /^body\.messages\.0: F/],
])('R2 %s says why, and so do we', (_who, body, reason) => {
  expect(refused(body)).toEqual({ is_envelope: false, reason: expect.stringMatching(reason) })
})

test.each([
  ['a page', '<html>'],
  ['nothing', ''],
  ['null', 'null'],
  ['an empty list', { detail: [] }],
  ['a number', '5'],
])('R2 %s says nothing', (_what, body) => {
  expect(refused(body)).toEqual({ is_envelope: false, reason: undefined })
})

test('R2 however long, it is told in bounds', () => {
  expect(refused({ error: 'x'.repeat(100_000) }).reason).toHaveLength(2_000)
})
