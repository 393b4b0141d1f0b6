// 0302, 0303: what of a Messages request changes on a platform: the tables say all of it, and every other field stays.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FIELDS } from '../../messages/chat-fields.ts'
import { BEDROCK_FIELDS, type PlatformForm, platformMessages, VERTEX_FIELDS } from './messages-body.ts'

const forms: Record<string, PlatformForm> = {
  bedrock: {
    anthropic_version: 'bedrock-2023-05-31',
    without: new Set(['model', 'stream']),
    has_betas_in_body: true,
    betas: undefined,
  },
  vertex: {
    anthropic_version: 'vertex-2023-10-16',
    without: new Set(['model']),
    has_betas_in_body: false,
    betas: undefined,
  },
}
const asked = (text: string, headers = {}) => ({
  method: 'POST' as const,
  path: '/messages',
  headers,
  body: Buffer.from(text),
  timeouts: { first_byte_ms: 1, idle_ms: 1 },
})

describe.each([
  ['bedrock', BEDROCK_FIELDS],
  ['vertex', VERTEX_FIELDS],
] as const)('%s', (kind, table) => {
  const form = forms[kind] as PlatformForm

  test('every field of the request schema is kept, but for those that the table names otherwise', () => {
    const moved = Object.entries(table)
      .filter(([, { fate }]) => fate !== 'kept')
      .map(([name]) => name)
    for (const field of [...Object.keys(FIELDS), 'a_field_of_tomorrow']) {
      const text = `{"messages":[], "${field}" :  "x\\u00e9"}`
      const sent = String(platformMessages(asked(text), form).body)
      expect([field, sent.includes(`"${field}" :  "x\\u00e9"`)]).toEqual([field, !moved.includes(field)])
    }
  })

  test('a thousand random requests: the same JSON but for what the table says', () => {
    const body = fc.dictionary(fc.constantFrom(...Object.keys(FIELDS), 'x'), fc.jsonValue({ maxDepth: 2 }), {
      maxKeys: 8,
    })
    fc.assert(
      fc.property(body, fc.boolean(), (fields, stream) => {
        const given = { ...fields, model: 'm', stream }
        const sent = platformMessages(asked(JSON.stringify(given)), form)
        const { model: _model, stream: _stream, ...others } = given
        const kept = kind === 'vertex' ? { ...others, stream } : others
        expect(JSON.parse(String(sent.body))).toEqual(
          JSON.parse(JSON.stringify({ anthropic_version: form.anthropic_version, ...kept })),
        )
        expect([sent.model, sent.stream]).toEqual(['m', stream])
      }),
      { numRuns: 1_000 },
    )
  })

  test('a version and betas that the body names itself are kept', () => {
    const text = '{"anthropic_version":"mine","anthropic_beta":["b"],"messages":[]}'
    expect(String(platformMessages(asked(text, { 'anthropic-beta': 'a' }), form).body)).toBe(text)
  })

  test('R75 betas that are not listed, and headers that nobody knows there, are told', () => {
    const listed = { ...form, betas: ['b'] }
    const headers = { 'anthropic-beta': 'a, b,,c', 'anthropic-version': '2023-06-01', 'anthropic-x': '1' }
    const { body, headers: sent, left_out } = platformMessages(asked('{"messages":[]}', headers), listed)
    expect(left_out).toEqual(['anthropic-beta: a', 'anthropic-beta: c', 'anthropic-x'])
    expect(kind === 'bedrock' ? JSON.parse(String(body)).anthropic_beta : sent['anthropic-beta']).toEqual(
      kind === 'bedrock' ? ['b'] : 'b',
    )
  })
})
