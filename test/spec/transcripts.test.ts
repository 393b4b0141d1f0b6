// §10.2: the transcripts show every header where it must be, and nowhere else. That they are what the server answers is
// for test/slow/transcripts.test.ts, which takes them again.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const TEXT = readFileSync('docs/TRANSCRIPTS.md', 'utf8')

interface Answer {
  section: string
  status: number
  /** Head and trailers alike. */
  headers: Map<string, string>
}

const ANSWERS: Answer[] = TEXT.split(/^## /m)
  .slice(1)
  .flatMap((section) => {
    const title = section.slice(0, section.indexOf('\n'))
    return section
      .split(/^HTTP\/1\.1 (?=\d)/m)
      .slice(1)
      .map((answer) => ({
        section: title,
        status: Number(answer.slice(0, 3)),
        headers: new Map(
          [...answer.matchAll(/^([a-z][a-z-]+): (.*)$/gim)].map(([, name = '', value = '']) => [
            name.toLowerCase(),
            value,
          ]),
        ),
      }))
  })

const generations = ANSWERS.filter(({ status }) => status === 200)
const where = (header: string, value?: string) =>
  generations
    .filter(({ headers }) => (value === undefined ? headers.has(header) : headers.get(header) === value))
    .map(({ section }) => section)

const ALWAYS = [
  'agent-trace-id',
  'agent-resolved-provider',
  'agent-resolved-model',
  'agent-execution-profile',
  'agent-execution-mode',
  'agent-region',
  'agent-charged-micros',
  'agent-direct-cost-micros',
  'agent-savings-micros',
  'agent-qos-admission',
  'agent-qos-fallback-used',
]

test('§10.2 every generation has what every generation must have, streams in their trailers', () => {
  expect(generations.length).toBeGreaterThan(10)
  for (const { section, headers } of generations)
    expect([section, ALWAYS.filter((header) => !headers.has(header))]).toEqual([section, []])
})

test.each(['placeholder', 'live', 'emergency_fallback'])('§10.2 mode %s has a transcript', (mode) => {
  expect(where('agent-execution-mode', mode)).not.toEqual([])
})

test.each(['managed_provider', 'byok', 'subscription', 'byoc_native', 'byoc_epp'])(
  '§1 profile %s has a transcript',
  (profile) => {
    expect(where('agent-execution-profile', profile)).not.toEqual([])
  },
)

test.each([
  ['agent-byok-credential-id', ['Profile `byok`']],
  ['agent-subscription-id', ['Profile `subscription`']],
  ['agent-subscription-discount-pct', ['Profile `subscription`']],
  ['agent-alias-release', ['An alias, with hints']],
  ['agent-qos-target-met', ['An alias, with hints']],
  ['agent-hints-honored', ['An alias, with hints']],
  ['agent-ignored-fields', ['An alias, with hints']],
  ['agent-output-clamped', ['A shortened answer']],
  ['agent-session-contents-dropped', ['A session without room']],
  ['agent-idempotent-replay', ['A retry with the same key', 'A retry with the same key']],
] as const)('§10.2 %s stands where it applies, and nowhere else', (header, sections) => {
  expect(where(header)).toEqual(sections)
})

test('§10.2 every Agent header of CONTRACT is shown, and none that it does not have', () => {
  const contract = readFileSync('docs/CONTRACT.md', 'utf8')
  const table = contract.slice(contract.indexOf('### 10.2 Response headers')).split('\n## ')[0] ?? ''
  const documented = [...table.matchAll(/^\| `(agent-[a-z-]+)`/gim)].map(([, name = '']) => name.toLowerCase())
  const shown = new Set(
    ANSWERS.flatMap(({ headers }) => [...headers.keys()].filter((name) => name.startsWith('agent-'))),
  )
  expect([...shown].sort()).toEqual([...new Set(documented)].sort())
})

test.each([
  ['the budget', 429, 'quota_exceeded', { 'x-should-retry': 'false', 'retry-after': undefined }],
  ['the deadline', 504, 'deadline_exceeded', { 'x-should-retry': 'false', 'agent-qos-admission': 'admitted' }],
  ['the rate', 429, 'rate_limit_error', { 'retry-after': '<seconds>', 'x-should-retry': undefined }],
] as const)('R45, R48, R49 refused for %s: %i %s', (why, status, type, headers) => {
  const refusal = ANSWERS.find(({ section }) => section === `Refused: ${why}`)
  expect(refusal?.status).toBe(status)
  for (const [name, value] of Object.entries(headers)) expect(refusal?.headers.get(name)).toBe(value)
  expect(TEXT).toContain(`"type":"${type}"`)
})

test('R41 the trailers of the stream come behind its last event', () => {
  const stream = TEXT.slice(TEXT.indexOf('## A stream'))
  expect(stream.indexOf('data: [DONE]')).toBeLessThan(stream.indexOf('\nagent-charged-micros: '))
})

test('§5 the first minutes: start, first call, owner, and the call is seen; no secret is among them', () => {
  const at = ['$ npm start', 'chat.completion', '"role":"owner"', '"object":"usage_event"', 'It was answered in full.']
  const places = at.map((words) => TEXT.indexOf(words))
  expect(places.every((place) => place > 0)).toBe(true)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(TEXT.match(/svc_live_\w+|token=\w+/g)).toBe(null)
})
