// Bundles on their way into prompts: looked up for every call, so that one that was deleted is gone at once; what they
// say never changes, and is remembered as it was rendered last.
import type { FastifyRequest } from 'fastify'
import type { Artifact } from '../artifacts/artifact.ts'
import type { Surface } from '../artifacts/artifact-reference.ts'
import { Refusal } from '../core/refusal.ts'
import type { Db } from '../storage/db.ts'
import type { Bundle, BundleContents } from './bundle.ts'
import { type RenderedBundle, renderBundle } from './bundle-rendering.ts'
import { bundleStore } from './bundle-store.ts'

/** The artifacts that bundles are made of. Whoever may use a bundle may use what it is made of. */
export interface ReadArtifacts<Stored extends { artifact: Artifact }> {
  find(db: Db, project_id: string, id: string): Promise<Stored | undefined>
  bytesOf(stored: Stored): Promise<Buffer>
  used(project_id: string, id: string): void
}

export interface OpenBundles {
  /** Throws the 404. */
  open(request: FastifyRequest, id: string, surface: Surface): Promise<{ bundle: Bundle; rendered: RenderedBundle }>
}

const RENDERED_BYTES = 32 * 2 ** 20
const TIMES_IN_MEMORY = 2 // as bytes, and as values

export function openBundles<Stored extends { artifact: Artifact }>(artifacts: ReadArtifacts<Stored>): OpenBundles {
  const rendered = new Map<string, RenderedBundle>()
  let bytes = 0

  /** Those used last stay, up to a bound. */
  function remember(name: string, bundle: RenderedBundle): void {
    rendered.set(name, bundle)
    bytes += sizeOf(bundle)
    for (const [oldest, one] of rendered) {
      if (bytes <= RENDERED_BYTES) return
      rendered.delete(oldest)
      bytes -= sizeOf(one)
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

  return {
    async open({ caller: { project_id }, db }, id, surface) {
      const stored = await bundleStore(db).find(project_id, id.slice(0, ID_MAX))
      if (!stored) throw new Refusal('not_found', `'Agent-Bundle': no bundle '${told(id)}' in this project.`)
      const { bundle } = stored
      for (const { artifact_id } of bundle.items) artifacts.used(project_id, artifact_id)
      const name = `${bundle.id} ${surface}`
      const known = rendered.get(name)
      if (known && rendered.delete(name)) rendered.set(name, known)
      if (known) return { bundle, rendered: known }
      const fresh = renderBundle(surface, await contentsOf(db, bundle))
      remember(name, fresh)
      return { bundle, rendered: fresh }
    },
  }
}

const ID_MAX = 64
const told = (id: string) => id.replace(/[^\x20-\x7e]/g, '?').slice(0, ID_MAX)

const sizeOf = ({ turns, tools, last }: RenderedBundle) =>
  TIMES_IN_MEMORY * (turns.length + (tools?.length ?? 0) + last.marked.length)
