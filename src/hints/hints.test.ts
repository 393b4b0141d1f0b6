// §10.1: hints in a header never fail a call; hints in a body are refused by name.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Refusal } from '../core/refusal.ts'
import { createHints, decodeHints, type Hints, validateHints } from './hints.ts'

const DAY_MS = 86_400_000
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const raw = (text: string) => Buffer.from(text).toString('base64url')

const FULL = {
  reuse: {
    preference: 'require',
    session_id: 'ses_4fGh',
    ttl_s: 3_600,
    expected_output_tokens: 1_024,
    prefetch_next_turn: false,
  },
  qos: { class: 'interactive', target_ttft_ms: 500, deadline_ms: 30_000 },
  safety: { tool_side_effect_mode: 'external_commit_required', retry_safety: 'idempotent_generation_only' },
} satisfies Hints

test('§10.1 every section and field is read', () => {
  expect(decodeHints(encode(FULL))).toEqual(FULL)
  expect(validateHints(FULL)).toEqual(FULL)
})

test('§10.1 what is left out has a default, or stays out', () => {
  const bare = { reuse: {}, qos: {}, safety: {} }
  const read = { reuse: { preference: 'prefer' }, qos: { class: 'standard' }, safety: {} }
  expect([decodeHints(encode(bare)), validateHints(bare)]).toEqual([read, read])
  expect([decodeHints(encode({})), validateHints({})]).toEqual([{}, {}])
})

test('R9 fields and sections that nobody knows are left out', () => {
  const more = { ...FULL, colour: 'red', qos: { ...FULL.qos, colour: 'red' } }
  expect([decodeHints(encode(more)), validateHints(more)]).toEqual([FULL, FULL])
})

test('R75 everything that is left out is named', () => {
  const ignored: string[] = []
  const given = {
    colour: 'red',
    qos: { class: 'turbo', deadline_ms: 300.5, shape: 1 },
    safety: 7,
    reuse: { ttl_s: '9' },
  }
  expect(decodeHints(encode(given), ignored)).toEqual({ qos: { class: 'standard' }, reuse: { preference: 'prefer' } })
  expect(ignored.sort()).toEqual([
    'agent-hints.colour',
    'agent-hints.qos.class',
    'agent-hints.qos.deadline_ms',
    'agent-hints.qos.shape',
    'agent-hints.reuse.ttl_s',
    'agent-hints.safety',
  ])
  const nothing: string[] = []
  decodeHints(encode(FULL), nothing)
  decodeHints(encode({ qos: { deadline_ms: DAY_MS + 1, class: 'standard' } }), nothing) // bounded, not left out
  expect(nothing).toEqual([])
})

test.each([
  ['no header', undefined],
  ['an empty header', ''],
  ['three signs of padding', `${encode(FULL)}===`],
  ['padding in the middle', `${encode(FULL).slice(0, 8)}==${encode(FULL).slice(8)}`],
  ['a space in the middle', `${encode(FULL).slice(0, 8)} ${encode(FULL).slice(8)}`],
  ['a newline at the end', `${encode(FULL)}\n`],
  ['two headers that Node joined', `${encode(FULL)}, ${encode(FULL)}`],
  ['plain JSON', '{"qos":{"class":"interactive"}}'],
  ['not JSON', raw('hello')],
  ['half of JSON', encode(FULL).slice(0, 40)],
  ['an array', encode([FULL])],
  ['null', encode(null)],
  ['a number', encode(7)],
  ['a text', encode('qos')],
  ['8 KB of brackets', raw('['.repeat(6_000))],
  ['8 KB of brackets, closed', raw('['.repeat(3_000) + ']'.repeat(3_000))],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString('base64url')],
  ['more than 8 KiB', encode({ ...FULL, more: 'x'.repeat(8_192) })],
])('T-96 %s is no hints object', (_what, header) => {
  const ignored: string[] = []
  expect(decodeHints(header, ignored)).toBeUndefined()
  expect(ignored).toEqual(header === undefined ? [] : ['agent-hints'])
})

test.each([
  ['padded', Buffer.from('{"qos":{"deadline_ms":5}} ').toString('base64')],
  ['of the standard alphabet', Buffer.from('{"qos":{"deadline_ms":5,"class":"???>>>"}}').toString('base64')],
])('§10.1 base64 that is %s is understood', (_what, header) => {
  expect(header).toMatch(/[+/=]/)
  expect(decodeHints(header)).toEqual({ qos: { class: 'standard', deadline_ms: 5 } })
})

test('T-96 a header of exactly 8 KiB is read', () => {
  const room = 8_192 - encode({ ...FULL, more: '' }).length
  const header = encode({ ...FULL, more: 'x'.repeat(Math.floor((room * 3) / 4)) })
  expect(header.length).toBeGreaterThan(8_186)
  expect(decodeHints(header)).toEqual(FULL)
})

test.each(['turbo', 'Interactive', '', 7, null, {}])('R46 class %j is standard', (name) => {
  expect(decodeHints(encode({ qos: { class: name, deadline_ms: 5 } }))).toEqual({
    qos: { class: 'standard', deadline_ms: 5 },
  })
})

test.each([0, -5, '100', 1.5, null, true, [], {}])(
  'T-97 a deadline_ms of %j is left out and told, and nothing else is',
  (wrong) => {
    const header = encode({ ...FULL, qos: { ...FULL.qos, deadline_ms: wrong } })
    const ignored: string[] = []
    expect(decodeHints(header, ignored)).toEqual({ ...FULL, qos: { class: 'interactive', target_ttft_ms: 500 } })
    expect(ignored).toEqual(['agent-hints.qos.deadline_ms'])
  },
)

test.each(['1e308', '3000000000', '86400001'])('T-97 a deadline_ms of %s is bounded to a day', (long) => {
  expect(decodeHints(raw(`{"qos":{"deadline_ms":${long}}}`))).toEqual({
    qos: { class: 'standard', deadline_ms: DAY_MS },
  })
})

test('T-97 a deadline_ms of 1e999 is not finite, so it is not taken', () => {
  expect(decodeHints(raw('{"qos":{"deadline_ms":1e999}}'))).toEqual({ qos: { class: 'standard' } })
})

const WRONG: [string, object, string][] = [
  ['reuse.preference', { reuse: { preference: 'maybe' } }, "one of 'prefer', 'require', 'avoid'"],
  ['reuse.session_id', { reuse: { session_id: 'prj_1' } }, 'a text of the form ^ses_[0-9A-Za-z]{1,64}$'],
  ['reuse.session_id', { reuse: { session_id: 'ses_a\r\nb' } }, 'a text of the form ^ses_[0-9A-Za-z]{1,64}$'],
  ['reuse.session_id', { reuse: { session_id: 5 } }, 'a text of the form ^ses_[0-9A-Za-z]{1,64}$'],
  ['reuse.ttl_s', { reuse: { ttl_s: 0 } }, 'an integer from 1 to 86400'],
  ['reuse.expected_output_tokens', { reuse: { expected_output_tokens: '9' } }, 'an integer from 1 to 1000000'],
  ['reuse.prefetch_next_turn', { reuse: { prefetch_next_turn: 1 } }, 'true or false'],
  ['reuse', { reuse: 'prefer' }, 'an object'],
  ['qos.target_ttft_ms', { qos: { target_ttft_ms: 0.5 } }, 'an integer from 1 to 86400000'],
  ['qos.deadline_ms', { qos: { deadline_ms: -1 } }, 'an integer from 1 to 86400000'],
  ['qos', { qos: [] }, 'an object'],
  ['qos', { qos: null }, 'an object'],
  ['safety.retry_safety', { safety: { retry_safety: 'yolo' } }, "one of 'idempotent_generation_only'"],
  ['safety.tool_side_effect_mode', { safety: { tool_side_effect_mode: 1 } }, "one of 'external_commit_required'"],
]

test.each(WRONG)('§10.1 %s: %j is dropped from a header and refused by name in a body', (field, hints, must) => {
  const ignored: string[] = []
  const read = decodeHints(encode(hints), ignored)
  expect([{}, { reuse: { preference: 'prefer' } }, { qos: { class: 'standard' } }, { safety: {} }]).toContainEqual(read)
  expect(ignored).toEqual([`agent-hints.${field}`])
  expect(() => validateHints(hints)).toThrow(new Refusal('invalid_request', `'${field}' must be ${must}.`))
})

test.each([
  ['qos.class', { qos: { class: 'turbo' } }],
  ['qos.deadline_ms', { qos: { deadline_ms: DAY_MS + 1 } }],
])('§10.1 %s: what a header has bent to fit is refused in a body', (field, hints) => {
  expect(decodeHints(encode(hints))).toHaveProperty('qos')
  expect(() => validateHints(hints)).toThrow(`'${field}' must be`)
})

test.each([undefined, null, 7, 'qos', [FULL]])('§10.1 a body that is %j is refused', (body) => {
  expect(() => validateHints(body)).toThrow("'hints' must be an object.")
})

test('§10.1 hints are stored with sections under `hints`, or as the header has them', () => {
  const stored = createHints('prj_1', { name: ' night shift ', hints: FULL }, Date.UTC(2026, 0))
  expect(stored).toEqual({
    id: expect.stringMatching(/^ah_[0-9A-Za-z]{20}$/),
    object: 'agent_hints',
    project_id: 'prj_1',
    name: 'night shift',
    hints: FULL,
    created_at: '2026-01-01T00:00:00.000Z',
  })
  const bare = createHints('prj_1', FULL, 0)
  expect([bare.hints, 'name' in bare]).toEqual([FULL, false])
})

type Decode = (header: string | undefined) => Hints | undefined

/** Whatever comes: no throw, and only values within their bounds. */
const alwaysValid = (decode: Decode) => {
  const value = fc.oneof(
    fc.constantFrom('interactive', 'standard', 'background', 'prefer', 'avoid', 'external_commit_required', 'ses_1'),
    fc.double(),
    fc.integer({ min: -5, max: 4e9 }),
    fc.boolean(),
    fc.jsonValue(),
  )
  const section = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(fc.constantFrom(...Object.values(FULL).flatMap((fields) => Object.keys(fields)), '__proto__'), value),
  )
  const object = fc.dictionary(fc.constantFrom('reuse', 'qos', 'safety', 'constructor', '__proto__'), section)
  const header = fc.oneof(object.map(encode), fc.jsonValue().map(encode), fc.string(), fc.base64String())
  return fc.property(header, (text) => {
    const hints = decode(text)
    if (hints) expect(validateHints(hints)).toEqual(hints)
  })
}

test('§10.1 whatever a header holds, what comes out of it is valid', () => {
  fc.assert(alwaysValid(decodeHints), { numRuns: 3_000 })
})

test('§10.1 planted: trusting the JSON, or failing on it, is caught', () => {
  const trusting: Decode = (header) => {
    try {
      return JSON.parse(Buffer.from(header ?? '', 'base64url').toString())
    } catch {
      return undefined
    }
  }
  const strict: Decode = (header) => validateHints(JSON.parse(Buffer.from(header ?? '', 'base64url').toString()))
  const caught = (decode: Decode) => fc.check(alwaysValid(decode), { numRuns: 3_000 }).failed
  expect([caught(trusting), caught(strict)]).toEqual([true, true])
})
