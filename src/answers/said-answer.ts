// What an answer says, in whatever protocol, for whoever compares two of them: its text, the tools that it asks for,
// and why it ended. Of several choices, the first.
import { EventReader } from '../core/event-reader.ts'
import { nextTurn } from '../core/turns.ts'
import type { CallKind } from '../providers/provider.ts'
import type { Said } from '../replays/said-comparison.ts'
import { isObject, type Json } from '../responses/response-request.ts'
import { answeredResponse, assistantOutput, objectIn } from './assistant-output.ts'

export async function saidAnswer(kind: CallKind, is_stream: boolean, body: Buffer): Promise<Said> {
  const output = await assistantOutput(kind, is_stream, body)
  const finish_reason = await finishOf(kind, is_stream, body)
  // What cannot be read is compared as it came: two such answers are not taken for alike.
  if (output === undefined) return { text: body.toString(), tools: [], finish_reason }
  return { finish_reason, ...contentsOf(kind, output) }
}

type Contents = Pick<Said, 'text' | 'tools'>

function contentsOf(kind: CallKind, output: unknown): Contents {
  if (typeof output === 'string') return { text: output, tools: [] }
  if (kind === 'responses') return ofParts(Array.isArray(output) ? output : [])
  if (kind === 'messages') return ofParts(Array.isArray(output) ? output : [])
  const { content, refusal, tool_calls, function_call } = isObject(output) ? output : ({} as Json)
  const calls = [...(Array.isArray(tool_calls) ? tool_calls : []), ...(isObject(function_call) ? [function_call] : [])]
  return { text: textOf(content) || textOf(refusal), tools: calls.flatMap(toolOf) }
}

/** Blocks of a message, or items of a response. */
function ofParts(parts: readonly unknown[]): Contents {
  const objects = parts.filter(isObject)
  return {
    text: objects.map((part) => textOf(part.text) || textOf(part.refusal) || textOf(part.content)).join(''),
    tools: objects.filter(isTool).flatMap(toolOf),
  }
}

const isTool = ({ type }: Json) => typeof type === 'string' && /_call$|^tool_use$/.test(type)

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (isObject(part) ? textOf(part.text) || textOf(part.refusal) : '')).join('')
}

function toolOf(call: unknown): Said['tools'][number][] {
  if (!isObject(call)) return []
  const named = isObject(call.function) ? call.function : call
  const given = named.arguments ?? named.input ?? ''
  return [
    { name: String(named.name ?? call.type), arguments: typeof given === 'string' ? given : JSON.stringify(given) },
  ]
}

async function finishOf(kind: CallKind, is_stream: boolean, body: Buffer): Promise<string | null> {
  if (kind === 'responses') return endOfResponse(await answeredResponse(is_stream, body))
  if (!is_stream) return finishIn(await objectIn(body))
  let finish: string | null = null
  const reader = new EventReader()
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    for (const { data } of reader.read(body.subarray(at, at + SLICE_BYTES)))
      finish = finishIn(await objectIn(Buffer.from(data))) ?? finish
    if (at > 0) await nextTurn()
  }
  return finish
}

const SLICE_BYTES = 64 * 1024

function endOfResponse(response: Json | undefined): string | null {
  const details = response?.incomplete_details
  const reason = isObject(details) ? details.reason : undefined
  return [reason, response?.status].find((text) => typeof text === 'string') ?? null
}

/** Of a completion or a chunk of one, and of a message or its last events. */
function finishIn(value: unknown): string | null {
  if (!isObject(value)) return null
  const choice: unknown = Array.isArray(value.choices) ? value.choices[0] : undefined
  const told = [
    isObject(choice) ? choice.finish_reason : undefined,
    value.stop_reason,
    isObject(value.delta) ? value.delta.stop_reason : undefined,
  ]
  return told.find((text) => typeof text === 'string') ?? null
}
