// What an assistant said, out of the bytes that carried it: the response that is stored, and the output of a session's
// turn, where contents are kept at all. Read in steps (R77); what cannot be read says nothing.

import { EventReader } from '../core/event-reader.ts'
import { BUDGETS, jsonWithinOrNone } from '../core/foreign.ts'
import { nextTurn } from '../core/turns.ts'
import { MessageJoin } from '../messages/message-join.ts'
import type { CallKind } from '../providers/provider.ts'
import { isObject, type Json } from '../responses/response-request.ts'

export async function assistantOutput(kind: CallKind, streamed: boolean, body: Buffer): Promise<unknown> {
  if (kind === 'responses') return (await answeredResponse(streamed, body))?.output
  if (kind === 'messages') return streamed ? joinedMessage(body) : (await objectIn(body))?.content
  if (streamed) return joined(body)
  const choice = firstChoice(await objectIn(body))
  return choice?.message ?? choice?.text
}

/** Of the Responses API: the response, whole or as its last event has it. */
export const answeredResponse = (streamed: boolean, body: Buffer): Promise<Json | undefined> =>
  streamed ? finalResponse(body) : objectIn(body)

/** Undefined where it is none, or cannot be read. */
export async function objectIn(json: Buffer): Promise<Json | undefined> {
  const value = await jsonWithinOrNone(BUDGETS.own, json)
  return isObject(value) ? value : undefined
}

const firstChoice = (answer: Json | undefined): Json | undefined => {
  const choice = Array.isArray(answer?.choices) ? answer.choices[0] : undefined
  return isObject(choice) ? choice : undefined
}

/** Behind the last event of a response there may be `[DONE]`, a comment or two, and nothing else that matters. */
const LAST_EVENTS = 16
const [LF, CR] = [0x0a, 0x0d]

async function finalResponse(body: Buffer): Promise<Json | undefined> {
  for (let end = body.length, n = 0; end > 0 && n < LAST_EVENTS; n++) {
    const start = startOfEvent(body, end)
    const event = await objectIn(dataOf(body.subarray(start, end)))
    const type = typeof event?.type === 'string' ? event.type : ''
    if (/^response\.(completed|incomplete|failed)$/.test(type))
      return isObject(event?.response) ? event.response : undefined
    end = start
  }
  return undefined
}

/** Where the event begins that has ended at `end`: behind the blank line before it. */
function startOfEvent(body: Buffer, end: number): number {
  let from = end
  while (from > 0 && (body[from - 1] === LF || body[from - 1] === CR)) from--
  while (from > 0) {
    const line_end = body.lastIndexOf(LF, from - 1)
    if (line_end <= 0) return 0
    if (body[body[line_end - 1] === CR ? line_end - 2 : line_end - 1] === LF) return line_end + 1
    from = line_end
  }
  return 0
}

function dataOf(event: Buffer): Buffer {
  const lines: Buffer[] = []
  for (let from = 0; from < event.length; ) {
    const end = event.indexOf(LF, from) + 1 || event.length
    if (event.toString('latin1', from, from + 5) === 'data:') lines.push(event.subarray(from + 5, end))
    from = end
  }
  return lines.length === 1 ? (lines[0] as Buffer) : Buffer.concat(lines)
}

const SLICE_BYTES = 64 * 1024

interface Call {
  id?: unknown
  type: 'function'
  function: { name: string; arguments: string }
}

/** The first choice's deltas put together again. */
async function joined(body: Buffer): Promise<Json> {
  const reader = new EventReader()
  const said = { content: '', calls: new Map<number, Call>() }
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    for (const { data } of reader.read(body.subarray(at, at + SLICE_BYTES)))
      addChoice(firstChoice(await objectIn(Buffer.from(data))), said)
    if (at > 0) await nextTurn()
  }
  const { content, calls } = said
  return { role: 'assistant', content, ...(calls.size > 0 && { tool_calls: [...calls.values()] }) }
}

function addChoice(choice: Json | undefined, said: { content: string; calls: Map<number, Call> }): void {
  const delta = isObject(choice?.delta) ? choice.delta : {}
  said.content += [delta.content, choice?.text].find((text) => typeof text === 'string') ?? ''
  for (const part of Array.isArray(delta.tool_calls) ? delta.tool_calls : []) {
    if (!isObject(part)) continue
    const index = Number(part.index ?? 0)
    const call = said.calls.get(index) ?? { id: part.id, type: 'function', function: { name: '', arguments: '' } }
    const { name, arguments: given } = isObject(part.function) ? part.function : ({} as Json)
    if (typeof name === 'string') call.function.name += name
    if (typeof given === 'string') call.function.arguments += given
    said.calls.set(index, call)
  }
}

/** R81: the blocks of a streamed message, as a whole one has them. */
async function joinedMessage(body: Buffer): Promise<unknown> {
  const reader = new EventReader()
  const message = new MessageJoin()
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    for (const { data } of reader.read(body.subarray(at, at + SLICE_BYTES)))
      message.add((await objectIn(Buffer.from(data))) ?? {})
    if (at > 0) await nextTurn()
  }
  return message.content()
}
