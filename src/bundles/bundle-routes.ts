// /v2/bundles: prefixes that prompts share, put before them by the header `Agent-Bundle`.
import { Type } from 'typebox'
import type { Artifact } from '../artifacts/artifact.ts'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { madeByAnother, makerOf, maySee } from '../core/maker.ts'
import type { MemoryRoom } from '../core/memory-room.ts'
import { Refusal } from '../core/refusal.ts'
import { listOf } from '../core/shapes.ts'
import { found, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import type { Db } from '../storage/db.ts'
import {
  BUNDLE_MAX_BYTES,
  Bundle,
  type BundleParts,
  checkPlace,
  createBundle,
  DeletedBundle,
  NewBundle,
  type Role,
  tooLarge,
} from './bundle.ts'
import { chatBytes, toolsBytes } from './bundle-rendering.ts'
import { bundleStore } from './bundle-store.ts'
import { BundleWarmth, OBSERVED_MAX, warmthFrom } from './warmth.ts'

const Params = Type.Object({ bundle_id: Type.String({ description: 'Begins `bnd_`.' }) })
const share = { scope: 'inference', class: 'read' } as const // R3: contents belong to whoever makes the calls
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Bundles']
const TIMES_IN_MEMORY = 2 // in parts, and as one

/** An artifact that the caller may put into a bundle, with its bytes. */
export interface Artifacts {
  /** R78: what is read has a place in it. */
  room: Pick<MemoryRoom, 'place'>
  /** Undefined where the project has none of this id; throws where it is not for this caller (R74). */
  open(db: Db, caller: Caller, artifact_id: string): Promise<OpenArtifact | undefined>
}

interface OpenArtifact {
  artifact: Artifact
  read(): Promise<Buffer>
}

/** R70: taken and given back in the transaction of what is added or goes: who makes the same again takes nothing. */
export interface BundleQuota {
  /** Throws the 429. */
  take(tx: Db, project_id: string): Promise<void>
  giveBack(tx: Db, project_id: string): Promise<void>
}

interface Needs {
  clock: Clock
  artifacts: Artifacts
  quota: BundleQuota
}

export const bundleRoutes: Routes<Needs> = async (app, { clock, artifacts, quota }) => {
  app.post(
    '/v2/bundles',
    {
      config: share,
      // Contents are read before the transaction that the handler runs in: some lie far away.
      preHandler: async (request) => {
        request.bundle_parts = await partsFor(request.db, request.caller, request.body as NewBundle)
      },
      schema: {
        tags,
        summary: 'Create a bundle',
        description:
          'One that says the same as a bundle of the project is that bundle. `system` and `developer` turns are ' +
          'texts. Whoever may make generations in the project may use it.',
        body: NewBundle,
        response: { 200: Bundle },
      },
    },
    async ({ caller, body, db, bundle_parts: parts }) => {
      const bundle = createBundle(caller.project_id, body, parts as BundleParts, clock.now())
      if (await insert(db, bundle, caller)) return bundle
      const known = await bundleStore(db).findEqual(caller.project_id, bundle.prefix_hash)
      if (!known) throw new Refusal('not_found', 'An artifact of the bundle was deleted just now.')
      return known.bundle
    },
  )

  app.get(
    '/v2/bundles',
    { config: watch, schema: { tags, summary: 'List bundles, newest first', response: { 200: listOf(Bundle) } } },
    async ({ caller, db }, reply) => sendList(reply, bundleStore(db).list(caller.project_id), Bundle),
  )

  app.get(
    '/v2/bundles/:bundle_id',
    { config: watch, schema: { tags, summary: 'Retrieve a bundle', params: Params, response: { 200: Bundle } } },
    async ({ caller, params: { bundle_id: id }, db }) =>
      found(await bundleStore(db).find(caller.project_id, id), 'bundle', id).bundle,
  )

  app.get(
    '/v2/bundles/:bundle_id/warmth',
    {
      config: watch,
      schema: {
        tags,
        summary: 'What was observed of a bundle, target by target',
        description: 'When it was last sent there, and how much of that prompt was cached. Observed, never claimed.',
        params: Params,
        response: { 200: BundleWarmth },
      },
    },
    async ({ caller: { project_id }, params: { bundle_id: id }, db }) => {
      found(await bundleStore(db).find(project_id, id), 'bundle', id)
      return warmthFrom(id, await bundleStore(db).observed(project_id, id, OBSERVED_MAX))
    },
  )

  app.delete(
    '/v2/bundles/:bundle_id',
    {
      config: share,
      schema: {
        tags,
        summary: 'Delete a bundle',
        description:
          'Calls that name it are 404 from then on. Its artifacts stay. One that was made with another key needs the ' +
          '`admin` scope.',
        params: Params,
        response: { 200: DeletedBundle },
      },
    },
    async ({ caller, params: { bundle_id: id }, db }) => {
      const { maker } = found(await bundleStore(db).find(caller.project_id, id), 'bundle', id)
      if (!maySee(caller, maker)) throw madeByAnother(`The bundle '${id}'`)
      found((await remove(db, caller.project_id, id)) || undefined, 'bundle', id)
      return { id, object: 'bundle.deleted' as const, deleted: true as const }
    },
  )

  app.decorateRequest('bundle_parts', undefined)

  const insert = (db: Db, bundle: Bundle, caller: Caller) =>
    db.transaction(async (tx) => {
      const made = await bundleStore(tx).insert(bundle, makerOf(caller), clock.now())
      if (made) await quota.take(tx, bundle.project_id)
      return made
    })

  const remove = (db: Db, project_id: string, id: string) =>
    db.transaction(async (tx) => {
      const removed = await bundleStore(tx).remove(project_id, id)
      if (removed) await quota.giveBack(tx, project_id)
      return removed
    })

  /** R78: its bytes are counted one content after the other, and nothing of them is kept. */
  async function partsFor(db: Db, caller: Caller, { tools_artifact_id, items }: NewBundle): Promise<BundleParts> {
    let bytes = Math.max(0, items.length - 1) // the commas
    const opened = async (where: string, artifact_id: string, role: Role | 'tools') => {
      const known = await artifacts.open(db, caller, artifact_id)
      if (!known) throw new Refusal('not_found', `'${where}': no artifact '${artifact_id}' in this project.`)
      checkPlace(where, known.artifact, role)
      if (bytes + known.artifact.bytes > BUNDLE_MAX_BYTES) throw tooLarge()
      bytes += await sizeOf(caller, known, role)
      if (bytes > BUNDLE_MAX_BYTES) throw tooLarge()
      return { artifact: known.artifact }
    }
    const tools = tools_artifact_id == null ? undefined : await opened('tools_artifact_id', tools_artifact_id, 'tools')
    const turns = []
    for (const [at, { artifact_id, role }] of items.entries())
      turns.push({ role, ...(await opened(`items[${at}].artifact_id`, artifact_id, role)) })
    return { tools, turns, bytes }
  }

  /** As chat has it. Only of what is not base64 there the bytes tell. */
  async function sizeOf({ project_id }: Caller, { artifact, read }: OpenArtifact, role: Role | 'tools') {
    if (role !== 'tools' && artifact.kind !== 'text') return chatBytes({ role, artifact })
    const place = artifacts.room.place(project_id)
    try {
      place.take(artifact.bytes * TIMES_IN_MEMORY)
      const content = await read()
      return role === 'tools' ? toolsBytes(content) : chatBytes({ role, artifact }, content)
    } finally {
      place.giveBack()
    }
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What a new bundle is made of. */
    bundle_parts: BundleParts | undefined
  }
}
