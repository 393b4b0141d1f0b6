// Bundles on their way into prompts: looked up for every call, so that one that was deleted is gone at once; what they
// say never changes, and is remembered as it was rendered last.
import type { FastifyRequest } from 'fastify'
import type { Artifact } from '../artifacts/artifact.ts'
import type { Surface } from '../artifacts/artifact-reference.ts'
import type { Taking } from '../core/memory-room.ts'
import { Refusal } from '../core/refusal.ts'
import type { Db } from '../storage/db.ts'
import type { Bundle, BundleContents } from './bundle.ts'
import { type RenderedBundle, renderBundle } from './bundle-rendering.ts'
import { bundleStore } from './bundle-store.ts'
import { type MessagesBundle, moreInMessages, renderForMessages } from './messages-bundle.ts'

/** The artifacts that bundles are made of. Whoever may use a bundle may use what it is made of. */
export interface ReadArtifacts<Stored extends { artifact: Artifact }> {
  find(db: Db, project_id: string, id: string): Promise<Stored | undefined>
  bytesOf(stored: Stored): Promise<Buffer>
  used(project_id: string, id: string): void
}

export interface OpenBundles {
  /** Throws the 404. `room` is taken before anything is read, and for what is written of it before that. */
  open(request: FastifyRequest, id: string, surface: Surface, room: Taking): Promise<Opened<RenderedBundle>>
  /** The same for Anthropic's protocol. */
  openForMessages(request: FastifyRequest, id: string, isMarked: boolean, room: Taking): Promise<Opened<MessagesBundle>>
}

interface Opened<Rendered> {
  bundle: Bundle
  rendered: Rendered
}

interface Form<Rendered> {
  form: string
  room: Taking
  render(contents: BundleContents): Promise<Rendered>
  /** How many bytes it has beyond those of chat. */
  more?(contents: BundleContents): number
}

interface Remembered {
  bundle: RenderedBundle | MessagesBundle
  more_bytes: number
}

const RENDERED_BYTES = 32 * 2 ** 20
const TIMES_IN_MEMORY = 2 // as bytes, and as values

export function openBundles<Stored extends { artifact: Artifact }>(artifacts: ReadArtifacts<Stored>): OpenBundles {
  const rendered = new Map<string, Remembered>()
  let bytes = 0

  /** Those used last stay, up to a bound. */
  function remember(name: string, one: Remembered): void {
    if (rendered.has(name)) return // by another call at the same time
    rendered.set(name, one)
    bytes += sizeOf(one.bundle)
    for (const [oldest, { bundle }] of rendered) {
      if (bytes <= RENDERED_BYTES) return
      rendered.delete(oldest)
      bytes -= sizeOf(bundle)
    }
  }

  async function contentsOf(db: Db, { project_id, items, tools_artifact_id }: Bundle): Promise<BundleContents> {
    const read = async (id: string) => {
      const stored = await artifacts.find(db, project_id, id)
      if (!stored) throw new Error(`the bundle's artifact ${id} is gone`)
      return { artifact: stored.artifact, content: await artifacts.bytesOf(stored) }
    }
    const tools = tools_artifact_id === null ? undefined : await read(tools_artifact_id)
    const turns = []
    for (const { role, artifact_id } of items) turns.push({ role, ...(await read(artifact_id)) })
    return { tools, turns }
  }

  async function opened<Rendered extends RenderedBundle | MessagesBundle>(
    { caller, db }: FastifyRequest,
    id: string,
    { form, room, render, more }: Form<Rendered>,
  ): Promise<Opened<Rendered>> {
    const { project_id } = caller
    const stored = await bundleStore(db).find(project_id, id.slice(0, ID_MAX))
    if (!stored) throw new Refusal('not_found', `'Agent-Bundle': no bundle '${told(id)}' in this project.`)
    const { bundle } = stored
    room.take(bundle.bytes * TIMES_IN_MEMORY)
    for (const { artifact_id } of bundle.items) artifacts.used(project_id, artifact_id)
    const name = `${bundle.id} ${form}`
    const known = rendered.get(name)
    if (known && rendered.delete(name)) {
      rendered.set(name, known)
      room.take(known.more_bytes * TIMES_IN_MEMORY)
      return { bundle, rendered: known.bundle as Rendered }
    }
    const contents = await contentsOf(db, bundle)
    const more_bytes = more?.(contents) ?? 0
    room.take(more_bytes * TIMES_IN_MEMORY)
    const fresh = await render(contents)
    remember(name, { bundle: fresh, more_bytes })
    return { bundle, rendered: fresh }
  }

  return {
    open: (request, id, surface, room) =>
      opened(request, id, { form: surface, room, render: (contents) => renderBundle(surface, contents) }),

    openForMessages: (request, id, isMarked, room) =>
      opened(request, id, {
        ...{ form: `messages ${isMarked}`, room, more: moreInMessages },
        render: (contents) => renderForMessages(contents, isMarked),
      }),
  }
}

const ID_MAX = 64
const told = (id: string) => id.replace(/[^\x20-\x7e]/g, '?').slice(0, ID_MAX)

const sizeOf = (bundle: RenderedBundle | MessagesBundle) =>
  TIMES_IN_MEMORY *
  ('fronts' in bundle ? bundle.bytes : bundle.turns.length + (bundle.tools?.length ?? 0) + bundle.last.marked.length)
