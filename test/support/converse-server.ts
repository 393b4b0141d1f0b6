// How a model behind Bedrock's Converse answers, for what pretends to be AWS: requests are held against the shapes of its
// API, more strictly than AWS does, which ignores fields that it does not know.
import { eventMessage } from './aws-event-stream.ts'
import type { Saying } from './upstream.ts'

// biome-ignore lint/suspicious/noExplicitAny: whatever was sent
type Json = any

const FIELDS = /^(messages|system|inferenceConfig|toolConfig|outputConfig|serviceTier|additionalModelRequestFields)$/
const BLOCKS = /^(text|image|document|toolUse|toolResult|cachePoint)$/
const INFERENCE = /^(maxTokens|temperature|topP|stopSequences)$/

/** In the words of AWS, roughly; undefined where it is in order. */
export function wrongInConverse(body: Json): string | undefined {
  if (!Array.isArray(body?.messages) || body.messages.length === 0) return 'The messages field is required.'
  const odd =
    Object.keys(body).find((name) => !FIELDS.test(name)) ??
    Object.keys(body.inferenceConfig ?? {}).find((name) => !INFERENCE.test(name))
  if (odd !== undefined) return `extraneous key [${odd}] is not permitted`
  for (const [at, { role, content }] of body.messages.entries()) {
    if (role !== (at % 2 === 0 ? 'user' : 'assistant')) return 'A conversation must alternate between roles.'
    if (!Array.isArray(content) || content.length === 0)
      return `The content field in the Message object at ${at} is empty.`
    const wrong = content.map((block: Json) => wrongInBlock(block, body.toolConfig)).find((one: unknown) => one)
    if (wrong) return wrong
  }
  return undefined
}

function wrongInBlock(block: Json, toolConfig: Json): string | undefined {
  const names = Object.keys(block)
  if (names.length !== 1 || !BLOCKS.test(names[0] ?? '')) return `a block must have one of its members, not ${names}`
  if ('text' in block && block.text.trim() === '') return 'The text field in the ContentBlock object is blank.'
  if (('toolUse' in block || 'toolResult' in block) && !toolConfig)
    return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
  const bytes = (block.image ?? block.document)?.source?.bytes
  if (bytes !== undefined && Buffer.from(bytes, 'base64').toString('base64') !== bytes) return 'bytes must be base64'
  return undefined
}

const TEXT = 'Hello from the upstream.'

const usageIn = ({ usage = { input: 11, output: 7 } }: Saying) =>
  usage && {
    inputTokens: usage.input - (usage.cached ?? 0) - (usage.cache_written ?? 0),
    outputTokens: usage.output,
    totalTokens: usage.input + usage.output,
    ...(usage.cached && { cacheReadInputTokens: usage.cached }),
    ...(usage.cache_written && { cacheWriteInputTokens: usage.cache_written }),
  }

const callsIn = ({ tool_calls = [] }: Saying) =>
  tool_calls.map(({ name, arguments: text }, at) => ({ toolUseId: `tooluse_${at}`, name, input: JSON.parse(text) }))

export function converseAnswer(saying: Saying) {
  const calls = callsIn(saying)
  const content = calls.length > 0 ? calls.map((toolUse) => ({ toolUse })) : [{ text: saying.text ?? TEXT }]
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: calls.length > 0 ? 'tool_use' : 'end_turn',
    metrics: { latencyMs: 5 },
    ...(saying.usage !== null && { usage: usageIn(saying) }),
  }
}

export const converseEvent = (type: string, payload: object): Buffer =>
  eventMessage(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify({ ...payload, p: 'abcdefgh' }),
  )

export function converseFrames(saying: Saying): Buffer[] {
  const calls = callsIn(saying)
  const { text = TEXT } = saying
  const half = Math.ceil(text.length / 2)
  const said = (delta: object, contentBlockIndex = 0) =>
    converseEvent('contentBlockDelta', { contentBlockIndex, delta })
  const blocks =
    calls.length > 0
      ? calls.flatMap(({ input, ...toolUse }, contentBlockIndex) => [
          converseEvent('contentBlockStart', { contentBlockIndex, start: { toolUse } }),
          said({ toolUse: { input: JSON.stringify(input) } }, contentBlockIndex),
        ])
      : [said({ text: text.slice(0, half) }), said({ text: text.slice(half) })]
  return [
    converseEvent('messageStart', { role: 'assistant' }),
    ...blocks,
    converseEvent('contentBlockStop', { contentBlockIndex: Math.max(0, calls.length - 1) }),
    converseEvent('messageStop', { stopReason: calls.length > 0 ? 'tool_use' : 'end_turn' }),
    ...(saying.usage === null
      ? []
      : [converseEvent('metadata', { usage: usageIn(saying), metrics: { latencyMs: 5 } })]),
  ]
}
