// R80: what comes from outside and is told on has bounds and no secrets.
import { expect, test } from 'vitest'
import { inBounds, withoutSecrets } from './told-text.ts'

test.each([
  ['a bearer token', 'got Bearer abc.DEF-123_456=='],
  ['a header', 'authorization: Basic dXNlcjpwYXNz'],
  ['a header in JSON', '{"authorization":"Token s3cr3ts3cr3t"}'],
  ['a key of ours', 'svc_live_0123456789abcdefghij'],
  ['a key of OpenAI', 'Incorrect API key provided: sk-proj-abcdEFGH1234.'],
  ['one that they masked', 'Incorrect API key provided: sk-ab***********wxyz.'],
  ['Anthropic', 'x-api-key: sk-ant-api03-AAAA-BBBB'],
  ['an access key of AWS', 'AKIAIOSFODNN7EXAMPLE is not authorized'],
  ['a secret key of AWS', 'aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
  ['Google', 'API key AIzaSyD-0123456789abcdefghijklmnopqrstu not valid'],
  ['a token of Google', 'ya29.a0AfH6SMBx-abcdefgh'],
  ['a JWT', 'token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N'],
  ['an address with a password', 'https://user:hunter2@internal.example/v1'],
  ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----'],
  ['an Azure key', 'api-key: 0123456789abcdef0123456789abcdef'],
  ['a key in a query', 'https://x.example/v1?api_key=0123456789abcdef&a=1'],
  ['Hugging Face', 'hf_abcdefghijklmnopqrstuvwxyz'],
])('R80 %s is removed', (_what, text) => {
  const told = withoutSecrets(text)
  expect(told).toContain('[removed]')
  expect(told).not.toMatch(
    /abc\.DEF|dXNlc|s3cr3t|0123456789abcdef|abcdEFGH|wxyz|AAAA-BBBB|AKIA|wJalr|AIza|ya29|eyJ|hunter2|MIIE|hf_abc/,
  )
})

test.each([
  "This model's maximum context length is 4096 tokens, however you requested 5000 tokens.",
  'max_tokens: 128000 is too large for the task-based-scheduler',
  "Unexpected token '<' in JSON at position 0",
  'The secret of good prompts is patience. The signature of this function is wrong.',
  'Rate limit reached for gpt-4o in organization on tokens per min (TPM): Limit 30000, Used 29000.',
])('R80 an ordinary sentence stays: %s', (text) => {
  expect(withoutSecrets(text)).toBe(text)
})

test('R80 the credential that was sent is removed, whatever it looks like', () => {
  expect(withoutSecrets('key hunter2-is-it is bad', 'hunter2-is-it')).toBe('key [removed] is bad')
  expect(withoutSecrets('a a a', 'a')).toBe('a a a') // too short to be told from any other text
})

/** A search that begins again at every letter would take minutes over these. */
test.each(['eyJ', 'Bearer ', 'sk-', '://', '-----BEGIN ', 'api_key=', 'authorization"', 'AKIA', '\u0000'])(
  'R77 16 KB of %j are done in no time',
  (part) => {
    const text = part.repeat(Math.ceil(16_384 / part.length))
    const started = performance.now()
    withoutSecrets(inBounds(text, 16_384))
    expect(performance.now() - started).toBeLessThan(2_000)
  },
)

test('R80 bounds are bytes, and no character is cut through', () => {
  expect(inBounds('aé世🚀', 10)).toBe('aé世🚀')
  expect([9, 8, 7, 6, 5, 3, 2, 1].map((bytes) => inBounds('aé世🚀', bytes))).toEqual([
    ...['aé世', 'aé世', 'aé世', 'aé世'],
    ...['aé', 'aé', 'a', 'a'],
  ])
  expect(inBounds('a\uD800b', 10)).toBe('a\uFFFDb')
})
