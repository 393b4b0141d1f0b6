// §bundles: the hash of a prefix, which every server must come to by itself, and what a bundle adds to a body.
import { expect, test } from 'vitest'
import { type ArtifactKind, createArtifact } from '../artifacts/artifact.ts'
import { type BundleContents, prefixHash, type Role } from './bundle.ts'
import { chatBytes, renderBundle, toolsBytes } from './bundle-rendering.ts'
import { spliceBundle } from './bundle-splice.ts'
import { moreInMessages } from './messages-bundle.ts'

const digit = (letter: string) => letter.repeat(64)
const text = (role: Role, letter: string, media_type = 'text/plain') => ({
  role,
  artifact: { kind: 'text' as const, media_type, sha256: digit(letter) },
})
const tools = { artifact: { kind: 'tools' as const, media_type: 'application/json', sha256: digit('f') } }

// Worked out by hand: printf 'bundle/v1\ntools -\nsystem text text/plain aaaa…' | sha256sum
test('§bundles the hash of a prefix is fixed', () => {
  expect(prefixHash({ tools: undefined, turns: [text('system', 'a')] })).toBe(VECTORS[0])
  expect(prefixHash({ tools, turns: [text('system', 'a'), text('user', 'b', 'text/markdown')] })).toBe(VECTORS[1])
})

const VECTORS = [
  '9ac62f66236eadbf709c37e676b65aca58345fe64263973083b39fa219ec2b16',
  '3bef33a8054fbbf1b753b9cd4652161e2805a889ccd91a64797e8cac2c03e6e6',
]

test('§bundles order, roles, kinds, media types and tools all count', () => {
  const all = [
    { tools: undefined, turns: [text('system', 'a'), text('user', 'b')] },
    { tools: undefined, turns: [text('user', 'b'), text('system', 'a')] },
    { tools: undefined, turns: [text('system', 'a'), text('developer', 'b')] },
    { tools: undefined, turns: [text('system', 'a'), text('user', 'b', 'text/html')] },
    { tools, turns: [text('system', 'a'), text('user', 'b')] },
    { tools: undefined, turns: [text('system', 'a')] },
  ]
  expect(new Set(all.map(prefixHash)).size).toBe(all.length)
})

const artifactOf = (content: string, kind: ArtifactKind = 'text') => {
  const facts = { kind, name: null, media_type: 'text/plain', bytes: Buffer.byteLength(content), sha256: digit('a') }
  return {
    artifact: createArtifact('prj_a', { ...facts, expires_after_ms: undefined }, 0),
    content: Buffer.from(content),
  }
}
const contents: BundleContents = {
  tools: artifactOf('[ {"type":"function","function":{"name":"look","parameters":{"x":1.0}}} ]', 'tools'),
  turns: [
    { role: 'system', ...artifactOf('Be careful.') },
    { role: 'user', ...artifactOf('The "book".') },
  ],
}
const SYSTEM = '{"role":"system","content":"Be careful."},{"role":"user","content":"The \\"book\\"."}'
const TOOL = ' {"type":"function","function":{"name":"look","parameters":{"x":1.0}}} '

const spliced = async (surface: 'chat' | 'responses', body: string) => {
  const bytes = Buffer.from(body)
  const whole = spliceBundle(surface, { bytes, json: JSON.parse(body) }, await renderBundle(surface, contents))
  expect(JSON.parse(whole.bytes.toString())).toEqual(whole.json)
  return whole
}

test('§bundles golden bytes: before the turns and tools of the client, whose own bytes stay', async () => {
  const cases = [
    [
      '{"model":"m", "messages" : [ {"role":"user","content":"hi"}],"n": 1}',
      `{"tools":[${TOOL}],"model":"m", "messages" : [${SYSTEM}, {"role":"user","content":"hi"}],"n": 1}`,
    ],
    [
      '{"messages":[{"role":"user","content":"hi"}],"tools": [{"type":"function","function":{"name":"own"}}],"model":"m"}',
      `{"messages":[${SYSTEM},{"role":"user","content":"hi"}],"tools": [${TOOL},{"type":"function","function":{"name":"own"}}],"model":"m"}`,
    ],
    [
      '{"tools":null,"messages":[{"role":"user","content":"hi"}]}',
      `{"tools":[${TOOL}],"messages":[${SYSTEM},{"role":"user","content":"hi"}]}`,
    ],
    [
      '{"tools":[],"messages":[{"role":"user","content":"hi"}]}',
      `{"tools":[${TOOL}],"messages":[${SYSTEM},{"role":"user","content":"hi"}]}`,
    ],
  ] as const
  for (const [body, golden] of cases) {
    const { bytes, last } = await spliced('chat', body)
    expect(bytes.toString()).toBe(golden)
    expect(bytes.subarray(last.start, last.end).toString()).toBe('{"role":"user","content":"The \\"book\\"."}')
  }
})

test('§bundles on responses, a text alone becomes what the user says', async () => {
  const { bytes } = await spliced('responses', '{"model":"m","input":"caf\\u00e9"}')
  expect(bytes.toString()).toContain('"The \\"book\\"."}]},{"role":"user","content":"caf\\u00e9"}]')
  expect(JSON.parse(bytes.toString()).tools[0]).toEqual({
    type: 'function',
    name: 'look',
    description: null,
    parameters: { x: 1 },
    strict: null,
  })
})

test('§bundles a tool of the same name is refused, and so is what is no list', async () => {
  const named = { chat: { function: { name: 'look' } }, responses: { name: 'look' } }
  for (const surface of ['chat', 'responses'] as const)
    await expect(
      spliced(surface, JSON.stringify({ messages: [], input: [], tools: [{}, named[surface]] })),
    ).rejects.toThrow("'tools[1]': the bundle of 'Agent-Bundle' has a tool 'look' as well.")
  await expect(spliced('chat', '{"messages":{}}')).rejects.toThrow("'messages' must be an array")
  await expect(spliced('chat', '{"messages":[],"tools":7}')).rejects.toThrow("'tools' must be an array")
})

test('R77 what a bundle has is known to the byte before it is written: every escape, what is base64, and tools', async () => {
  const escapes = Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code)).join('')
  const turns = [
    { role: 'system' as const, ...artifactOf(`${escapes}\u2028 \u{1f600} \ud7ff`) },
    { role: 'user' as const, ...artifactOf('four', 'image') },
    { role: 'user' as const, ...artifactOf('a "document"', 'document') },
  ]
  const rendered = await renderBundle('chat', { tools: contents.tools, turns })
  const [text, ...others] = turns as [(typeof turns)[number], ...typeof turns]
  const bytes = [chatBytes(text, text.content), ...others.map((turn) => chatBytes(turn))].reduce((a, b) => a + b)
  expect(bytes + turns.length - 1).toBe(rendered.turns.length)
  expect(toolsBytes(contents.tools?.content as Buffer)).toBe(rendered.tools?.length)
  const document = artifactOf('\n'.repeat(9), 'document')
  const inMessages = { tools: undefined, turns: [{ role: 'user' as const, ...document }] }
  expect(moreInMessages(inMessages)).toBe(18 - 12)
})
