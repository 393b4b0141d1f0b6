// Answers that no upstream should give, as fast-check makes them: shaped like the protocols of OpenAI and Anthropic, with
// something wrong in them, or damaged byte by byte; framed as HTTP, rightly or not, and cut anywhere.
import fc from 'fast-check'
import type { CallKind } from '../../src/providers/provider.ts'
import { answerTo, type Said } from '../support/upstream-protocols.ts'

export const ROUTES = {
  chat: { path: '/v1/chat/completions', kind: 'chat', native: true },
  completions: { path: '/v1/completions', kind: 'completions', native: true },
  embeddings: { path: '/v1/embeddings', kind: 'embeddings', native: true },
  responses: { path: '/v1/responses', kind: 'responses', native: true },
  chained: { path: '/v1/responses', kind: 'responses', native: true },
  over_chat: { path: '/v1/chat/completions', kind: 'responses', native: false },
  anthropic: { path: '/v1/messages', kind: 'chat', native: false },
  over_anthropic: { path: '/v1/messages', kind: 'responses', native: false },
} as const satisfies Record<string, { path: string; kind: CallKind; native: boolean }>

export type RouteName = keyof typeof ROUTES

export interface HostileAnswer {
  route: RouteName
  stream: boolean
  status: number
  /** What the body is, before it is framed. */
  body: Buffer
  /** The bytes on the wire, in the pieces in which they come. */
  pieces: Buffer[]
  /** After the last of them. */
  closes: boolean
}

/** Stands for what JSON.stringify would not write. */
const raw = (json: string) => `@raw:${json}@`
const written = (value: unknown) =>
  (JSON.stringify(value) ?? 'null').replace(/"@raw:(.*?)@"/g, (_, json) => json.replaceAll('\\"', '"'))

const deep = (levels: number) => raw(`${'['.repeat(levels)}${']'.repeat(levels)}`)
const ODD = [
  -5,
  -1,
  0.5,
  2 ** 60,
  1e9,
  1e9 + 1,
  Number.MAX_SAFE_INTEGER,
  raw('1e999'),
  raw('-0'),
  raw('123456789012345678901234567890'),
  '12',
  '',
  null,
  true,
  [],
  {},
  [[]],
  [null],
  { a: null },
  deep(40),
  deep(300),
  raw('{"__proto__":{"a":1},"constructor":1}'),
  raw('{"a":1,"a":2}'),
  'x'.repeat(3_000),
  '\u0000\u001b[31m',
  '\ud800',
  '模型'.repeat(20),
  Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`k${n}`, n])),
  { prompt_tokens: -5, completion_tokens: 2 ** 60 },
  { input_tokens: 1e10, output_tokens: 1.5 },
  { message: 'no', type: 'x', code: 5 },
]
/** Rarely: what is too large to be parsed at once. */
const LARGE = [
  'x'.repeat(70_000),
  '\\"'.repeat(100_000),
  Array(30_000).fill([]),
  Array(70_000).fill(0),
  Object.fromEntries(Array.from({ length: 12_000 }, (_, n) => [`key${n}`, n])),
  raw(`[${'[],'.repeat(260_000)}1]`),
  'y'.repeat(1_100_000),
]

const values = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...ODD) },
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
)

const edits = fc.array(
  fc.record({
    place: fc.nat(10_000),
    how: fc.constantFrom('replace', 'replace', 'remove', 'add', 'wrap'),
    name: fc.constantFrom('usage', 'error', 'choices', 'type', 'delta', 'content', 'prompt_tokens', 'output', 'x'),
    value: values,
  }),
  { maxLength: 4 },
)

const damages = fc.oneof(
  { weight: 6, arbitrary: fc.constant([]) },
  {
    weight: 2,
    arbitrary: fc.array(
      fc.record({
        place: fc.nat(100_000),
        how: fc.constantFrom('flip', 'cut', 'insert', 'repeat', 'drop'),
        text: fc.constantFrom(
          '\n\n',
          '\r',
          '\0',
          '"',
          '}',
          '{',
          ',',
          '\\',
          'data: ',
          'data: {"error":1}\n\n',
          'é',
          '[DONE]',
        ),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  },
)

const FRAMINGS = ['length', 'chunked', 'close', 'short', 'long', 'both', 'twice', 'bare', 'rubbish'] as const

const plans = fc.record({
  route: fc.constantFrom(...(Object.keys(ROUTES) as RouteName[])),
  stream: fc.boolean(),
  usage: fc.constantFrom(undefined, null, { input: 3, output: 4 }, { input: 3, output: 4, cached: 9, reasoning: 2 }),
  tools: fc.boolean(),
  status: fc.constantFrom(200, 200, 200, 200, 200, 200, 201, 400, 404, 429, 500, 204, 302),
  edits,
  damages,
  is_bare: fc.integer({ min: 0, max: 19 }),
  large: fc.oneof(
    { weight: 399, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...LARGE) },
  ),
  bytes: fc.uint8Array({ maxLength: 200 }),
  framing: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('length', 'chunked') },
    { weight: 1, arbitrary: fc.constantFrom(...FRAMINGS) },
  ),
  cuts: fc.array(fc.nat(5_000), { maxLength: 4 }),
  chunk: fc.integer({ min: 1, max: 400 }),
  line_end: fc.constantFrom('\n', '\n', '\n', '\r\n', '\r'),
})

type Plan = typeof plans extends fc.Arbitrary<infer P> ? P : never

export const hostileAnswers: fc.Arbitrary<HostileAnswer> = plans.map(answerOf)

function answerOf(plan: Plan): HostileAnswer {
  const { route, stream, status, framing, cuts } = plan
  const body = damaged(bodyOf(plan), plan.damages)
  const wire = framed(plan, body)
  const closes = !['length', 'chunked', 'long', 'twice'].includes(framing)
  return { route, stream, status, body, pieces: cutUp(wire, cuts), closes }
}

function bodyOf(plan: Plan): Buffer {
  const { is_bare, bytes, line_end } = plan
  if (is_bare === 0) return Buffer.from(bytes)
  const said = rightAnswer(plan)
  const text = said.kind === 'whole' ? written(edited(said.body, plan)) : eventsOf(said, plan)
  return Buffer.from(line_end === '\n' ? text : text.replaceAll('\n', line_end))
}

const right = new Map<string, Said>()

/** What an upstream should have said: the same for thousands of plans, of which each changes a copy. */
function rightAnswer({ route, stream, usage, tools }: Plan): Said {
  const { path } = ROUTES[route]
  const name = `${path} ${stream} ${tools} ${JSON.stringify(usage)}`
  const known = right.get(name)
  if (known) return known
  const asked = { method: 'POST', path, body: { model: 'm', stream, input: 'hello' } }
  const tool_calls = [{ name: 'f', arguments: '{"a":1}' }]
  const said = answerTo(
    asked as never,
    { ...(usage !== undefined && { usage }), ...(tools && { tool_calls }) } as never,
  )
  right.set(name, said)
  return said
}

/** As JSON has it, which is sooner done than structuredClone. */
const copyOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? JSON.parse(JSON.stringify(value)) : value

/** Each edit changes one event; those of no JSON stay. */
function eventsOf({ events }: Extract<Said, { kind: 'stream' }>, plan: Plan): string {
  const told = [...events]
  for (const [n, edit] of plan.edits.entries()) {
    const at = (edit.place * 31 + n) % told.length
    const event = told[at] as string
    const start = event.indexOf('data: ') + 'data: '.length
    const end = event.indexOf('\n', start)
    if (edit.how === 'remove') told.splice(at, 1)
    else if (edit.how === 'wrap') told.splice(at, 0, event)
    else if (event[start] === '{') {
      const large = n === 0 ? plan.large : undefined
      const json = edited(JSON.parse(event.slice(start, end)), { edits: [edit], large })
      told[at] = event.slice(0, start) + written(json) + event.slice(end)
    }
    if (told.length === 0) break
  }
  return told.join('')
}

function edited(json: unknown, { edits: changes, large }: Pick<Plan, 'edits' | 'large'>): unknown {
  const root = { json: copyOf(json) }
  for (const { place, how, name, value: given } of changes) {
    const value = copyOf(given) // it may be changed by the next
    const places = placesIn(root)
    const [parent, key] = places[place % places.length] as Place
    const held = parent[key]
    if (how === 'remove' && parent !== root) delete parent[key]
    else if (how === 'wrap') parent[key] = [held, copyOf(held)]
    else if (how === 'add' && typeof held === 'object' && held !== null && !Array.isArray(held))
      (held as Record<string, unknown>)[name] = value
    else parent[key] = value
  }
  if (large !== undefined && typeof root.json === 'object' && root.json !== null)
    (root.json as Record<string, unknown>).pad = large
  return root.json
}

type Place = [parent: Record<string, unknown>, key: string]

function placesIn(value: unknown, found: Place[] = []): Place[] {
  if (typeof value !== 'object' || value === null || found.length > 300) return found
  for (const key of Object.keys(value)) {
    found.push([value as Record<string, unknown>, key])
    placesIn((value as Record<string, unknown>)[key], found)
  }
  return found
}

function damaged(body: Buffer, changes: Plan['damages']): Buffer {
  let bytes = body
  for (const { place, how, text } of changes) {
    const at = place % (bytes.length + 1)
    const before = bytes.subarray(0, at)
    if (how === 'cut') bytes = before
    else if (how === 'drop') bytes = Buffer.concat([before, bytes.subarray(at + 7)])
    else if (how === 'insert') bytes = Buffer.concat([before, Buffer.from(text), bytes.subarray(at)])
    else if (how === 'repeat') bytes = Buffer.concat([bytes, bytes.subarray(at)])
    else {
      bytes = Buffer.from(bytes)
      if (at < bytes.length) bytes[at] = (bytes[at] as number) ^ (1 << (place % 8))
    }
  }
  return bytes
}

function framed({ status, stream, framing, chunk, route }: Plan, body: Buffer): Buffer {
  const type = stream && status === 200 ? 'text/event-stream' : 'application/json'
  const head = (...lines: string[]) =>
    Buffer.from([`HTTP/1.1 ${status} x`, `content-type: ${type}`, ...lines, '', ''].join('\r\n'))
  const lengthOf = (bytes: number) => `content-length: ${Math.max(0, bytes)}`
  if (framing === 'chunked') return Buffer.concat([head('transfer-encoding: chunked'), ...chunksOf(body, chunk)])
  if (framing === 'short') return Buffer.concat([head(lengthOf(body.length + 100)), body])
  if (framing === 'long') return Buffer.concat([head(lengthOf(body.length - 3)), body])
  if (framing === 'both') return Buffer.concat([head(lengthOf(body.length), 'transfer-encoding: chunked'), body])
  if (framing === 'twice') return Buffer.concat(Array(2).fill(Buffer.concat([head(lengthOf(body.length)), body])))
  if (framing === 'bare') return Buffer.concat([head(), Buffer.from('\n'), body, Buffer.from(route)])
  if (framing === 'rubbish') return body
  return framing === 'close'
    ? Buffer.concat([head('connection: close'), body])
    : Buffer.concat([head(lengthOf(body.length)), body])
}

function chunksOf(body: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = []
  const step = Math.max(size, Math.ceil(body.length / 200))
  for (let at = 0; at < body.length; at += step) {
    const part = body.subarray(at, at + step)
    chunks.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
  }
  return [...chunks, Buffer.from('0\r\n\r\n')]
}

const READ_BYTES = 64 * 1024 // no socket hands over more at a time

function cutUp(wire: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (wire.length + 1)))].sort((a, b) => a - b)
  const pieces: Buffer[] = []
  let from = 0
  for (const to of [...places, wire.length]) {
    for (; from < to; from += READ_BYTES) pieces.push(wire.subarray(from, Math.min(to, from + READ_BYTES)))
    from = to
  }
  return pieces
}
