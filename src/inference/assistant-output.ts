// What an assistant said, out of the bytes that carried it: for the session's line, where contents are kept at all.
import { jsonOrNone, textOf } from '../core/json-bytes.ts'
import type { CallKind } from '../providers/provider.ts'

type Fields = Record<string, unknown>

export function assistantOutput(kind: CallKind, streamed: boolean, body: Buffer): unknown {
  if (kind === 'responses') return (streamed ? finalResponse(body) : jsonOrNone(body))?.output
  if (!streamed) {
    const [choice] = (jsonOrNone(body)?.choices as Fields[] | undefined) ?? []
    return choice?.message ?? choice?.text
  }
  return joined(body)
}

/** The response as its last event has it. */
export function finalResponse(body: Buffer): Fields | undefined {
  for (const data of events(body).reverse()) {
    const event = jsonOrNone(data)
    const type = typeof event?.type === 'string' ? event.type : ''
    if (/^response\.(completed|incomplete|failed)$/.test(type)) return event?.response as Fields
  }
  return undefined
}

/** The first choice's deltas put together again. */
function joined(body: Buffer): Fields {
  let content = ''
  const calls = new Map<number, { id?: unknown; type: 'function'; function: { name: string; arguments: string } }>()
  for (const data of events(body)) {
    const [choice] = (jsonOrNone(data)?.choices as Fields[] | undefined) ?? []
    const delta = (choice?.delta ?? {}) as { content?: unknown; tool_calls?: Fields[] }
    content += typeof delta.content === 'string' ? delta.content : typeof choice?.text === 'string' ? choice.text : ''
    for (const part of delta.tool_calls ?? []) {
      const index = Number(part.index ?? 0)
      const call = calls.get(index) ?? { id: part.id, type: 'function', function: { name: '', arguments: '' } }
      const piece = (part.function ?? {}) as { name?: string; arguments?: string }
      call.function.name += piece.name ?? ''
      call.function.arguments += piece.arguments ?? ''
      calls.set(index, call)
    }
  }
  return { role: 'assistant', content, ...(calls.size > 0 && { tool_calls: [...calls.values()] }) }
}

const events = (body: Buffer) =>
  textOf(body)
    .split(/\r?\n\r?\n/)
    .map((event) => event.replace(/^(event:.*\r?\n)?data: ?/, ''))
