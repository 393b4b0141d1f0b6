// What a bundle is: an ordered prefix of a prompt, made of artifacts. It never changes, and what it is made of gives it
// a hash that is the same on every server.
import { hash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import type { Artifact } from '../artifacts/artifact.ts'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { Label, label, orNull, time } from '../core/shapes.ts'

export const ROLES = ['system', 'developer', 'user'] as const
export type Role = (typeof ROLES)[number]

export const ITEMS_MAX = 64
export const BUNDLE_MAX_BYTES = 8 * 2 ** 20

const Item = Type.Object({
  artifact_id: Type.String({ maxLength: 64, description: 'Begins `art_`.' }),
  role: Type.Enum([...ROLES]),
})

export const Bundle = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `bnd_`. What the header `Agent-Bundle` names.' }),
    object: Type.Literal('bundle'),
    project_id: Type.String(),
    name: orNull(Type.String()),
    tools_artifact_id: orNull(Type.String()),
    items: Type.Array(Item),
    prefix_hash: Type.String({ description: 'Of what it says: the same on every server.' }),
    tokens_est: Type.Integer(),
    bytes: Type.Integer({ description: 'What it adds to a chat request.' }),
    created_at: time(),
  },
  { title: 'Bundle' },
)
export type Bundle = Static<typeof Bundle>

export const NewBundle = Type.Object(
  {
    name: Type.Optional(Label('What people call it.')),
    tools_artifact_id: Type.Optional(
      orNull(Type.String({ maxLength: 64, description: 'An artifact of kind `tools`.' })),
    ),
    items: Type.Array(Item, { minItems: 1, maxItems: ITEMS_MAX }),
  },
  { title: 'NewBundle' },
)
export type NewBundle = Static<typeof NewBundle>

export const DeletedBundle = Type.Object(
  { id: Type.String(), object: Type.Literal('bundle.deleted'), deleted: Type.Literal(true) },
  { title: 'DeletedBundle' },
)

/** One turn of a bundle, with what it says. */
export interface BundleTurn {
  role: Role
  artifact: Artifact
  content: Buffer
}

/** What a bundle says, whatever protocol it is said in. */
export interface BundleContents {
  tools: { artifact: Artifact; content: Buffer } | undefined
  turns: readonly BundleTurn[]
}

/** What it is made of, without the bytes of that. */
export interface BundleParts {
  tools: Pick<BundleTurn, 'artifact'> | undefined
  turns: readonly Pick<BundleTurn, 'artifact' | 'role'>[]
  /** As chat has it. */
  bytes: number
}

export function createBundle(project_id: string, asked: NewBundle, parts: BundleParts, now: number): Bundle {
  const artifacts = [...(parts.tools ? [parts.tools] : []), ...parts.turns].map(({ artifact }) => artifact)
  return {
    id: newId('bnd'),
    object: 'bundle',
    project_id,
    name: asked.name === undefined ? null : label('name', asked.name),
    tools_artifact_id: asked.tools_artifact_id ?? null,
    items: asked.items.map(({ artifact_id, role }) => ({ artifact_id, role })),
    prefix_hash: prefixHash(parts),
    tokens_est: artifacts.reduce((sum, { tokens_est }) => sum + tokens_est, 0),
    bytes: parts.bytes,
    created_at: rfc3339(now),
  }
}

type Hashed = Pick<Artifact, 'kind' | 'media_type' | 'sha256'>

/**
 * Over lines of text: `bundle/v1`, the digest of the tools or `-`, then for each turn its role, kind, media type and
 * digest. None of them has a space or a line end in it, so no two bundles are written alike.
 */
export function prefixHash({ tools, turns }: { tools: { artifact: Hashed } | undefined; turns: readonly Said[] }) {
  const lines = turns.map(({ role, artifact }) => `${role} ${artifact.kind} ${artifact.media_type} ${artifact.sha256}`)
  return hash('sha256', ['bundle/v1', `tools ${tools?.artifact.sha256 ?? '-'}`, ...lines].join('\n'), 'hex')
}

interface Said {
  role: Role
  artifact: Hashed
}

/** Which artifact may stand where. */
export function checkPlace(where: string, { kind, id }: Artifact, role: Role | 'tools'): void {
  if (role === 'tools') {
    if (kind !== 'tools') throw wrong(where, `name tools; '${id}' is of kind '${kind}'`)
    return
  }
  if (kind === 'tools') throw wrong(where, "name a text, an image or a document; tools are for 'tools_artifact_id'")
  if (role !== 'user' && kind !== 'text') throw wrong(where, `name a text, as every '${role}' turn is`)
}

export const tooLarge = () =>
  new Refusal('body_too_large', 'A bundle has at most 8 MiB, as it goes into a prompt: less where it is base64.')

const wrong = (where: string, must: string) => new Refusal('invalid_request', `'${where}' must ${must}.`)
