import { describe, expect, test } from 'vitest'
import { whatWasRefused, withoutOtherCode, wordsIn, wordsOf, wordsOfAnswer } from './upstream-reason.ts'

const refused = (body: unknown) => whatWasRefused(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))

test('R2 an envelope that clients know goes on as it is', () => {
  expect(refused({ error: { message: 'no', type: 'x' } })).toEqual({
    envelope: { message: 'no', type: 'x' },
    reason: 'no',
  })
})

test.each([
  ['vLLM', { object: 'error', message: "This model's maximum context length is 4096 tokens." }, /maximum context/],
  ['text-generation-inference', { error: 'Input validation error', error_type: 'validation' }, /^Input validation/],
  ['FastAPI, in a word', { detail: 'Not so' }, /^Not so$/],
  ['FastAPI, by field', { detail: [{ loc: ['body', 'messages', 0], msg: 'Field required' }] }, /^body\.messages\.0: F/],
])('R2 %s says why, and so do we', (_who, body, reason) => {
  expect(refused(body)).toEqual({ envelope: undefined, reason: expect.stringMatching(reason) })
})

test.each([
  ['a page', '<html>'],
  ['nothing', ''],
  ['null', 'null'],
  ['an empty list', { detail: [] }],
  ['a number', '5'],
])('R2 %s says nothing', (_what, body) => {
  expect(refused(body)).toEqual({ envelope: undefined, reason: undefined })
})

test('R2 however long, it is told in bounds', () => {
  expect(refused({ error: 'x'.repeat(60_000) }).reason).toHaveLength(2_000)
})

test('R2 an error without a type is none that clients know', () => {
  expect(refused({ error: { message: 'no', type: null } })).toEqual({ envelope: undefined, reason: 'no' })
})

describe('§7 a code that is no string is taken out, and no other byte', () => {
  test.each([
    [
      'in the middle',
      '{"error": {"message": "no", "code": null, "type": "x"}}',
      '{"error": {"message": "no", "type": "x"}}',
    ],
    ['first', '{"error":{"code":null,"message":"no","type":"x"}}', '{"error":{"message":"no","type":"x"}}'],
    [
      'last',
      '{ "error" : {"message":"no","type":"x" , "code" : null } }',
      '{ "error" : {"message":"no","type":"x" } }',
    ],
    ['alone', '{"error":{"code":null}}', '{"error":{}}'],
    ['a number', '{"error":{"type":"x","code":400,"param":null}}', '{"error":{"type":"x","param":null}}'],
    ['an object', '{"error":{"type":"x","code":{"a":[1,"}"]}}}', '{"error":{"type":"x"}}'],
    ['twice', '{"error":{"code":null,"code":7,"type":"x"}}', '{"error":{"type":"x"}}'],
    ['spelled otherwise', '{"error":{"type":"x","c\\u006fde":null}}', '{"error":{"type":"x"}}'],
  ])('%s', (_where, before, after) => {
    expect(String(withoutOtherCode(Buffer.from(before)))).toBe(after)
  })

  test.each([
    ['a string', '{"error":{"message":"no","type":"x","code":"context_length_exceeded"}}'],
    ['none', '{"error":{"message":"\\"code\\":null","type":"x","param":null}}'],
    ['elsewhere', '{"code":null,"error":{"message":"no","inner":{"code":null}}}'],
    ['no object', '{"error":"no"}'],
  ])('%s stays', (_what, envelope) => {
    const bytes = Buffer.from(envelope)
    expect(withoutOtherCode(bytes)).toBe(bytes)
  })
})

describe('R80 what an upstream said, for people', () => {
  const words = (body: unknown, sent?: string) =>
    wordsOf(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), sent)

  test.each([
    ['an envelope', { error: { message: 'CUDA out of memory', type: 'x' } }, 'CUDA out of memory'],
    ['a sentence', 'upstream connect error or disconnect/reset before headers', /^upstream connect error/],
    ['a page', '<html><head><title>502 Bad Gateway</title></head></html>', '502 Bad Gateway'],
    ['JSON of its own', { status: 'broken', at: 3 }, '{"status":"broken","at":3}'],
  ])('%s', (_form, body, said) => {
    expect(words(body)).toEqual(typeof said === 'string' ? said : expect.stringMatching(said))
  })

  test.each([
    ['nothing', ''],
    ['blanks', ' \n\t '],
    ['no text', Buffer.alloc(64)],
  ])('%s says nothing', (_what, body) => {
    expect(wordsOf(Buffer.from(body))).toBeUndefined()
  })

  test('at most 2 KB of it, in whole characters, whatever its size', () => {
    const long = words('ü'.repeat(1_000_000)) ?? ''
    expect([Buffer.byteLength(long), long.includes('\uFFFD')]).toEqual([2_048, false])
    const parts = `{"error":[${'{"msg":"a"},'.repeat(1_000_000)}1]}`
    expect(Buffer.byteLength(words(parts) ?? '')).toBeLessThanOrEqual(2_048)
  })

  test.each([
    ['an error', '{"error":{"message":"overloaded"}}', 'overloaded'],
    ['a page', '<title>Sign in</title>', 'Sign in'],
    ['half an answer', '{"choices":[{"message":{"content":"what somebody asked for', undefined],
    ['an answer of another kind', '{"output":"what somebody asked for"}', undefined],
  ])('a 200 that is no answer: %s', (_what, body, said) => {
    expect(wordsOfAnswer(Buffer.from(body))).toBe(said)
  })

  test('no control characters, nothing that turns text around', () => {
    expect(words({ error: { message: 'a\u0000b\u001b[31mc\u202Ed\r\ne' } })).toBe('a b [31mc d e')
  })

  test('without the credential that was sent, and without any other', () => {
    const said = {
      error: { message: 'Bad key my-own-secret-17 in Authorization: Bearer abcdef123456, sk-proj-aaaabbbbcccc' },
    }
    const told = words(said, 'my-own-secret-17')
    expect(told).toMatch(/^Bad key \[removed\] in Authorization: /)
    expect(told).not.toMatch(/my-own|abcdef|sk-proj/)
  })

  test.each([
    ['OpenAI', { message: 'overloaded', code: 7 }, 'overloaded'],
    ['a word', 'overloaded', 'overloaded'],
    ['nothing', { code: 7 }, undefined],
    ['null', null, undefined],
  ])('an error event of %s', (_form, error, said) => {
    expect(wordsIn(error)).toBe(said)
  })
})
