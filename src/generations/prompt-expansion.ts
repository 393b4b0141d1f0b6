// A prompt with what it refers to put into it: artifacts that it names by `file_id`, and the bundle of `Agent-Bundle`
// before it. Done before anything of it is counted, so that bound, rates, hold and prefix memory see what the upstream
// gets; what is stored keeps the reference.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Artifact } from '../artifacts/artifact.ts'
import {
  changesFor,
  type Inlined,
  inlineBytes,
  inlined,
  itemsWith,
  listName,
  mayRefer,
  type Reference,
  referencesIn,
  type Surface,
} from '../artifacts/artifact-reference.ts'
import { maySee } from '../artifacts/artifact-routes.ts'
import type { KeptArtifacts } from '../artifacts/kept-artifact-store.ts'
import type { RenderedBundle } from '../bundles/bundle-rendering.ts'
import { spliceBundle } from '../bundles/bundle-splice.ts'
import { spliceIntoMessages } from '../bundles/messages-bundle.ts'
import type { OpenBundles } from '../bundles/open-bundle-store.ts'
import type { JsonBody } from '../core/json-bytes.ts'
import { withChanges } from '../core/json-elements.ts'
import type { Fields } from '../core/json-splice.ts'
import { jsonBytes } from '../core/json-writing.ts'
import { madeByAnother } from '../core/maker.ts'
import type { MemoryRoom } from '../core/memory-room.ts'
import { Refusal } from '../core/refusal.ts'
import { onceClosed } from '../http/once-closed.ts'
import type { CallKind } from '../providers/provider.ts'
import type { Conversation } from '../responses/conversation.ts'
import type { Item } from '../responses/response-request.ts'
import type { ExpansionRoom, SentBundle } from './call.ts'
import { mayMark } from './upstream-request.ts'

export interface Prompt {
  body: JsonBody
  conversation: Conversation | undefined
}

export interface Expanded extends Prompt {
  bundle?: SentBundle | undefined
}

interface Arrived {
  request: FastifyRequest
  /** Undefined: whoever asked gives the room back. */
  reply?: FastifyReply
}

interface Expanding extends Arrived {
  room: ExpansionRoom
}

interface Needs {
  artifacts: KeptArtifacts
  bundles: OpenBundles
  room: MemoryRoom
}

const MIB = 2 ** 20
/** A body that came with everything in it has at most half. */
const EXPANDED_MAX_BYTES = 32 * MIB
const ARTIFACTS_MAX = 64
/** As bytes, and as what they were parsed to. */
const TIMES_IN_MEMORY = 2

const BUNDLE = 'agent-bundle'

/** Nobody else pays for it: a header that is not there, and a search over the bytes. */
export const isExpandable = ({ headers }: FastifyRequest, { bytes }: JsonBody) =>
  headers[BUNDLE] !== undefined || mayRefer(bytes)

const SURFACES: Partial<Record<CallKind, Surface>> = { chat: 'chat', responses: 'responses' }

/** Whether a body surely becomes larger than it came: what only looks like a reference is none. */
export function isExpanded(kind: CallKind, { headers }: FastifyRequest, json: Fields): boolean {
  const surface = SURFACES[kind]
  return headers[BUNDLE] !== undefined || (!!surface && referencesIn(surface, json[listName(surface)]).length > 0)
}

export type PromptExpansion = ReturnType<typeof promptExpansion>

export function promptExpansion({ artifacts, bundles, room }: Needs) {
  /** Whoever may not see it may not have a model tell it either (R74). */
  async function visible({ request: { caller, db } }: Arrived, { artifact_id: id, where }: Reference) {
    const stored = await artifacts.find(db, caller.project_id, id)
    if (!stored) throw new Refusal('not_found', `'${where}': no artifact '${id}' in this project.`)
    if (!(await maySee(db, caller, id))) throw madeByAnother(`The artifact '${id}' ('${where}')`)
    artifacts.used(caller.project_id, id)
    return stored
  }

  /** The contents of each artifact once, however often it is named. */
  async function contentsFor(references: readonly Reference[], came_bytes: number, arrived: Expanding) {
    const contents = new Map<string, { artifact: Artifact; content: Buffer }>()
    const times = new Map<string, number>()
    for (const { artifact_id } of references) times.set(artifact_id, (times.get(artifact_id) ?? 0) + 1)
    if (times.size > ARTIFACTS_MAX) throw tooMany()
    let bytes = came_bytes
    for (const reference of references) {
      const { artifact_id } = reference
      if (contents.has(artifact_id)) continue
      const stored = await visible(arrived, reference)
      const count = times.get(artifact_id) ?? 1
      const least = count * inlineBytes(stored.artifact)
      bound(bytes + least)
      arrived.room.take(least * TIMES_IN_MEMORY) // before anything of it is read
      const content = await artifacts.bytesOf(stored)
      const added = count * inlineBytes(stored.artifact, content)
      bytes += added
      bound(bytes)
      arrived.room.take((added - least) * TIMES_IN_MEMORY) // its escapes
      contents.set(artifact_id, { artifact: stored.artifact, content })
    }
    return contents
  }

  function roomFor({ request, reply }: Arrived): ExpansionRoom {
    const place = room.place(request.caller.project_id)
    let [bytes, is_kept, is_over] = [0, false, false]
    const answered = () => {
      is_over = true
      if (!is_kept) place.giveBack()
    }
    if (reply) onceClosed(reply.raw, answered)
    reply?.raw.once('finish', answered)
    return {
      take(more) {
        place.take(more)
        bytes += more
        if (is_over && !is_kept) place.giveBack()
      },
      keep() {
        if (is_over) place.take(bytes)
        is_kept = true
      },
      giveBack: place.giveBack,
    }
  }

  async function withReferences(surface: Surface, prompt: Prompt, arrived: Expanding): Promise<Prompt> {
    const { body, conversation } = prompt
    const { bytes, json } = body as { bytes: Buffer; json: Record<string, unknown> | null }
    const name = listName(surface)
    const references = referencesIn(surface, json?.[name])
    if (references.length === 0 || !json) return prompt
    const said = conversation && [...conversation.history, ...conversation.request.input]
    const all = said ? referencesIn(surface, said) : references
    const contents = await contentsFor(all.length > references.length ? all : references, bytes.length, arrived)
    const inline = inlining(surface, contents)
    const parts = await inline(references)
    const whole = withChanges(bytes, changesFor(bytes, surface, parts))
    bound(whole.length)
    const items = itemsWith(json[name] as unknown[], parts)
    return {
      body: { bytes: whole, json: { ...json, [name]: items } },
      conversation: said && conversation && sentWith(conversation, itemsWith(said, await inline(all)) as Item[]),
    }
  }

  /** Unlike a hint it is content: what cannot be put there is refused, never left out. */
  async function withBundle(surface: Surface, prompt: Prompt, id: string, arrived: Expanding): Promise<Expanded> {
    const { json } = prompt.body
    if (typeof json !== 'object' || json === null || Array.isArray(json)) return prompt // which is told elsewhere
    const { bundle, rendered } = await bundles.open(arrived.request, id, surface, arrived.room)
    bound(prompt.body.bytes.length + bundle.bytes)
    const spliced = spliceBundle(surface, { bytes: prompt.body.bytes, json: json as Fields }, rendered)
    bound(spliced.bytes.length)
    return {
      body: { bytes: spliced.bytes, json: spliced.json },
      conversation: prompt.conversation && behindBundle(prompt.conversation, rendered),
      bundle: { id, prefix_hash: bundle.prefix_hash, last: { ...spliced.last, marked: rendered.last.marked } },
    }
  }

  /** R81: the protocol says itself where a cached prefix ends, wherever the call goes. */
  async function beforeMessages(prompt: Prompt, id: string, arrived: Expanding): Promise<Expanded> {
    const { bytes, json } = prompt.body
    if (typeof json !== 'object' || json === null || Array.isArray(json)) return prompt // which is told elsewhere
    const { bundle, rendered } = await bundles.openForMessages(arrived.request, id, mayMark(bytes), arrived.room)
    bound(bytes.length + rendered.bytes)
    const body = spliceIntoMessages({ bytes, json: json as Fields }, rendered)
    return { body, conversation: undefined, bundle: { id, prefix_hash: bundle.prefix_hash, last: undefined } }
  }

  return {
    async expand(kind: CallKind, prompt: Prompt, came: Arrived): Promise<Expanded & { room: ExpansionRoom }> {
      const room = roomFor(came)
      try {
        return { ...(await expanded(kind, prompt, { ...came, room })), room }
      } catch (error) {
        room.giveBack()
        throw error
      }
    },
  }

  async function expanded(kind: CallKind, prompt: Prompt, arrived: Expanding): Promise<Expanded> {
    const surface = SURFACES[kind]
    const id = arrived.request.headers[BUNDLE]
    if (kind === 'messages' && id !== undefined) return beforeMessages(prompt, String(id), arrived)
    if (!surface && id !== undefined) throw notHere()
    if (!surface) return prompt
    const whole = mayRefer(prompt.body.bytes) ? await withReferences(surface, prompt, arrived) : prompt
    return id === undefined ? whole : withBundle(surface, whole, String(id), arrived)
  }
}

/** What goes out of a conversation, with the bundle's turns before all others and its tools before the client's. */
function behindBundle(conversation: Conversation, { items, tool_values, last }: RenderedBundle): Conversation {
  const { request, history } = conversation.sent ?? conversation
  const sent = {
    request: { ...request, tools: [...tool_values, ...request.tools] as typeof request.tools },
    history: [...items, ...history] as Item[],
  }
  const marked = { ...sent, history: [...items.slice(0, -1), last.marked_item, ...history] as Item[] }
  return { ...conversation, sent: { ...sent, marked } }
}

const notHere = () =>
  new Refusal(
    'invalid_request',
    "'Agent-Bundle' goes with chat completions, responses and messages: other calls have no turns.",
  )

type Contents = ReadonlyMap<string, { artifact: Artifact; content: Buffer }>

/** What two references say in the same words has its bytes once. */
function inlining(surface: Surface, contents: Contents) {
  const known = new Map<string, Pick<Inlined, 'bytes' | 'value'>>()
  return async (references: readonly Reference[]): Promise<Inlined[]> => {
    const parts: Inlined[] = []
    for (const reference of references) {
      const said = JSON.stringify(reference.json)
      const part = known.get(said) ?? (await written(reference))
      known.set(said, part)
      parts.push({ ...part, ...reference })
    }
    return parts
  }

  async function written(reference: Reference): Promise<Pick<Inlined, 'bytes' | 'value'>> {
    const found = contents.get(reference.artifact_id)
    if (!found) throw new Refusal('not_found', `'${reference.where}': no artifact '${reference.artifact_id}'.`)
    const value = inlined(surface, reference, found.artifact, found.content)
    return { value, bytes: await jsonBytes(value, inlineBytes(found.artifact)) }
  }
}

/** `items` are what came before and what is new, in this order. */
function sentWith(conversation: Conversation, items: readonly Item[]): Conversation {
  const { request, history } = conversation
  const sent = {
    request: { ...request, input: items.slice(history.length) },
    history: items.slice(0, history.length),
  }
  return { ...conversation, sent }
}

function bound(bytes: number): void {
  if (bytes > EXPANDED_MAX_BYTES)
    throw new Refusal('body_too_large', 'With the artifacts that it names, the body has more than 32 MiB.')
}

const tooMany = () =>
  new Refusal('invalid_request', `A request must name at most ${ARTIFACTS_MAX} different artifacts.`)
