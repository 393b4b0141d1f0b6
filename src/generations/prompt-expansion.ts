// A prompt with what it refers to put into it: artifacts that it names by `file_id`. Done before anything of it is
// counted, so that bound, rates, hold and prefix memory see what the upstream gets; what is stored keeps the reference.
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
import type { MemoryRoom } from '../artifacts/memory-room.ts'
import type { JsonBody } from '../core/json-bytes.ts'
import { withChanges } from '../core/json-elements.ts'
import { jsonBytes } from '../core/json-writing.ts'
import { madeByAnother } from '../core/maker.ts'
import { Refusal } from '../core/refusal.ts'
import type { CallKind } from '../providers/provider.ts'
import type { Conversation } from '../responses/conversation.ts'
import type { Item } from '../responses/response-request.ts'

export interface Prompt {
  body: JsonBody
  conversation: Conversation | undefined
}

export type Expanded = Prompt

interface Arrived {
  request: FastifyRequest
  reply: FastifyReply
}

interface Needs {
  artifacts: KeptArtifacts
  room: MemoryRoom
}

const MIB = 2 ** 20
/** A body that came with everything in it has at most half. */
const EXPANDED_MAX_BYTES = 32 * MIB
const ARTIFACTS_MAX = 64
/** As bytes, and as what they were parsed to. */
const TIMES_IN_MEMORY = 2

/** Nobody else pays for it: a search over the bytes. */
export const isExpandable = (_request: FastifyRequest, { bytes }: JsonBody) => mayRefer(bytes)

const SURFACES: Partial<Record<CallKind, Surface>> = { chat: 'chat', responses: 'responses' }

export type PromptExpansion = ReturnType<typeof promptExpansion>

export function promptExpansion({ artifacts, room }: Needs) {
  /** Whoever may not see it may not have a model tell it either (R74). */
  async function visible({ request: { caller, db } }: Arrived, { artifact_id: id, where }: Reference) {
    const stored = await artifacts.find(db, caller.project_id, id)
    if (!stored) throw new Refusal('not_found', `'${where}': no artifact '${id}' in this project.`)
    if (!(await maySee(db, caller, id))) throw madeByAnother(`The artifact '${id}' ('${where}')`)
    artifacts.used(caller.project_id, id)
    return stored
  }

  /** The contents of each artifact once, however often it is named. */
  async function contentsFor(references: readonly Reference[], came_bytes: number, arrived: Arrived) {
    const contents = new Map<string, { artifact: Artifact; content: Buffer }>()
    const times = new Map<string, number>()
    for (const { artifact_id } of references) times.set(artifact_id, (times.get(artifact_id) ?? 0) + 1)
    if (times.size > ARTIFACTS_MAX) throw tooMany()
    const room_for = placeFor(arrived)
    let bytes = came_bytes
    for (const reference of references) {
      const { artifact_id } = reference
      if (contents.has(artifact_id)) continue
      const stored = await visible(arrived, reference)
      const count = times.get(artifact_id) ?? 1
      bound(bytes + count * inlineBytes(stored.artifact)) // before anything of it is read
      const content = await artifacts.bytesOf(stored)
      const added = count * inlineBytes(stored.artifact, content)
      bytes += added
      bound(bytes)
      room_for.take(added * TIMES_IN_MEMORY)
      contents.set(artifact_id, { artifact: stored.artifact, content })
    }
    return contents
  }

  function placeFor({ request, reply }: Arrived) {
    const place = room.place(request.caller.project_id)
    reply.raw.once('close', place.giveBack)
    reply.raw.once('finish', place.giveBack)
    return place
  }

  return {
    async expand(kind: CallKind, prompt: Prompt, arrived: Arrived): Promise<Expanded> {
      const surface = SURFACES[kind]
      const { body, conversation } = prompt
      if (!surface) return prompt
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
    },
  }
}

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
