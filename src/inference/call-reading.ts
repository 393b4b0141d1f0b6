// From a request to a Call: its body, its hints (inline, or by a reference that goes before them, §10.1), its session
// and its deadline.
import type { FastifyRequest } from 'fastify'
import { newTraceId } from '../core/ids.ts'
import { decodeHints, type Hints } from '../hints/hints.ts'
import { hintsStore } from '../hints/hints-store.ts'
import type { CallKind } from '../providers/provider.ts'
import { type Call, type JsonBody, readAsked } from './call.ts'
import { type Conversation, selfContained } from './conversation.ts'
import { deadlineAt } from './qos.ts'

const SESSION_HEADERS = ['x-session-id', 'x-claude-code-session-id', 'x-dynamo-session-id', 'thread-id'] as const
const SESSION_MAX = 256

export interface Reading {
  kind: CallKind
  request: FastifyRequest
  /** How a Responses request is read, which may have to look up what it continues. */
  readConversation(json: unknown): Promise<Conversation>
}

export async function readCall({ kind, request, readConversation }: Reading): Promise<Call> {
  const { received_at } = request
  const body = (request.body as JsonBody | undefined) ?? { bytes: Buffer.alloc(0), json: undefined }
  const conversation = kind === 'responses' ? await readConversation(body.json) : undefined
  const asked = readAsked(kind, conversation ? selfContained(body, conversation) : body)
  const reference = request.headers['agent-hints-ref']
  const hints = reference === undefined ? inlineHints(request) : await referredHints(request, reference)
  return {
    endpoint: request.route.url ?? '',
    trace_id: newTraceId(received_at),
    received_at,
    caller: request.caller,
    hints,
    session_id: sessionOf(request, asked.json, hints),
    deadline_at: deadlineAt(hints, received_at),
    conversation,
    ...asked, // last: a literal that begins with a spread and goes on costs V8 ten times as much
  }
}

async function referredHints(request: FastifyRequest, reference: string | string[]): Promise<Hints | undefined> {
  const { caller, db } = request
  if (typeof reference === 'string' && reference.startsWith('ah_')) {
    const stored = await hintsStore(db).find(caller.project_id, reference)
    if (stored) return stored.hints
  }
  return inlineHints(request)
}

function inlineHints({ headers }: FastifyRequest): Hints | undefined {
  const inline = headers['agent-hints']
  return typeof inline === 'string' ? decodeHints(inline) : undefined
}

function sessionOf({ headers }: FastifyRequest, json: Call['json'], hints: Hints | undefined): string | undefined {
  const named = [
    hints?.reuse?.session_id,
    ...SESSION_HEADERS.map((header) => headers[header]),
    json.prompt_cache_key,
    json.previous_response_id,
  ]
  const session = named.find((one) => typeof one === 'string' && one !== '')
  if (typeof session !== 'string' || session.includes('\0')) return undefined // T-37: no store would take it
  return session.slice(0, SESSION_MAX)
}
