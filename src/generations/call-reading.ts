// From a request to a Call: its body, its hints (inline, or by a reference that goes before them, §10.1), its session
// and its deadline.
import type { FastifyRequest } from 'fastify'
import { traceIdOf } from '../core/ids.ts'
import type { JsonBody } from '../core/json-bytes.ts'
import { tagsOf } from '../headers/call-tags.ts'
import { decodeHints, type Hints } from '../hints/hints.ts'
import { hintsStore } from '../hints/hints-store.ts'
import type { CallKind } from '../providers/provider.ts'
import { type Conversation, selfContained } from '../responses/conversation.ts'
import { type Call, type ExpansionRoom, readAsked } from './call.ts'
import { askedOfMessages } from './messages-asked.ts'
import { checkMoneyFields } from './money-fields.ts'
import { type Expanded, isExpandable, type Prompt } from './prompt-expansion.ts'
import { deadlineAt } from './qos.ts'

const SESSION_HEADERS = ['x-session-id', 'x-claude-code-session-id', 'x-dynamo-session-id', 'thread-id'] as const
const SESSION_FIELDS = ['prompt_cache_key', 'previous_response_id'] as const
const SESSION_MAX = 256

export interface Reading {
  kind: CallKind
  request: FastifyRequest
  /** How a Responses request is read, which may have to look up what it continues. */
  readConversation(json: unknown): Promise<Conversation>
  /** R84: a session that takes no more turns. */
  isClosed(session_id: string): Promise<boolean>
  /** Puts what the body refers to into it, before anything of it is counted. */
  expand(kind: CallKind, prompt: Prompt): Promise<Expanded & { room: ExpansionRoom }>
}

export async function readCall({ kind, request, readConversation, isClosed, expand }: Reading): Promise<Call> {
  const { received_at } = request
  const body = (request.body as JsonBody | undefined) ?? { bytes: Buffer.alloc(0), json: undefined }
  checkMoneyFields(body, kind)
  const conversation = kind === 'responses' ? await readConversation(body.json) : undefined
  const whole = conversation ? await selfContained(body, conversation) : body
  const expanded = isExpandable(request, whole) ? await expand(kind, { body: whole, conversation }) : undefined
  const asked = readAsked(kind, expanded?.body ?? whole)
  const ignored: string[] = []
  const hints = await hintsOf(request, ignored)
  const is_replay = request.is_replay === true
  const session = is_replay ? undefined : sessionOf(request, asked.json, hints)
  const is_closed = session !== undefined && isOpenedHere(session.id) && (await isClosed(session.id))
  if (is_closed) ignored.push(session.field)
  return {
    endpoint: request.route.url ?? '',
    trace_id: traceIdOf(request.id),
    received_at,
    caller: request.caller,
    is_keyed: request.keyed !== undefined,
    hints,
    session_id: is_closed ? undefined : session?.id,
    tags: tagsOf(request.headers['agent-tags'], asked.json),
    ignored_fields: ignored,
    deadline_at: deadlineAt(hints, received_at),
    is_replay,
    conversation: expanded?.conversation ?? conversation,
    messages: kind === 'messages' ? askedOfMessages(request) : undefined,
    bundle: expanded?.bundle,
    expansion_room: expanded?.room,
    client_json: expanded && (body.json as Call['json']),
    ...asked, // last: a literal that begins with a spread and goes on costs V8 ten times as much
  }
}

/** What nobody will act on is named in `ignored` (R75). */
export async function hintsOf(request: FastifyRequest, ignored: string[]): Promise<Hints | undefined> {
  const reference = request.headers['agent-hints-ref']
  return reference === undefined ? inlineHints(request, ignored) : referredHints(request, reference, ignored)
}

async function referredHints(
  request: FastifyRequest,
  reference: string | string[],
  ignored: string[],
): Promise<Hints | undefined> {
  const { caller, db } = request
  if (typeof reference === 'string' && reference.startsWith('ah_')) {
    const stored = await hintsStore(db).find(caller.project_id, reference)
    if (stored) return stored.hints
  }
  ignored.push('agent-hints-ref')
  return inlineHints(request, ignored)
}

function inlineHints({ headers }: FastifyRequest, ignored: string[]): Hints | undefined {
  const inline = headers['agent-hints']
  return typeof inline === 'string' ? decodeHints(inline, ignored) : undefined
}

/** Only sessions that were opened here have a line; any other id serves affinity and usage alone. */
export const isOpenedHere = (session_id: string) => session_id.startsWith('ses_')

interface NamedSession {
  id: string
  /** What named it. */
  field: string
}

function sessionOf(
  { headers }: FastifyRequest,
  json: Call['json'],
  hints: Hints | undefined,
): NamedSession | undefined {
  const asked = hints?.reuse?.session_id
  if (asked !== undefined) return { id: asked, field: 'agent-hints.reuse.session_id' }
  for (const field of SESSION_HEADERS) if (isName(headers[field])) return storable(headers[field], field)
  for (const field of SESSION_FIELDS) if (isName(json[field])) return storable(json[field], field)
  return undefined
}

const isName = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** T-37: no store would take a NUL. */
const storable = (name: string, field: string) =>
  name.includes('\0') ? undefined : { id: name.slice(0, SESSION_MAX), field }
