// What an artifact is: content that prompts share, uploaded once. It never changes, and equal bytes of one kind are one
// artifact within a project, and never across projects: that would tell what others have.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { label, orNull, time } from '../core/shapes.ts'
import { wholeNumber } from '../core/text-values.ts'

export const ARTIFACT_KINDS = ['text', 'image', 'document', 'tools'] as const
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number]

const EXPIRY = { minimum: 3_600, maximum: 31_536_000 }
const NAME_MAX = 256 // R8
export const PAGE_MAX = 1_000
/** The most that an operator may let one have: what bodies may hold, and memory. */
export const FILE_MIB_MOST = 32

export const Artifact = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `art_`. What `file_id` of a prompt names.' }),
    object: Type.Literal('artifact'),
    project_id: Type.String(),
    kind: Type.Enum([...ARTIFACT_KINDS]),
    name: orNull(Type.String()),
    media_type: Type.String(),
    bytes: Type.Integer(),
    sha256: Type.String({ description: 'Of its bytes, in hexadecimal.' }),
    tokens_est: Type.Integer({ description: 'What it is taken for in a prompt, before any model has counted it.' }),
    created_at: time(),
    expires_at: orNull(time()),
    last_used_at: orNull(time()),
  },
  { title: 'Artifact' },
)
export type Artifact = Static<typeof Artifact>

export const DeletedArtifact = Type.Object(
  { id: Type.String(), object: Type.Literal('artifact.deleted'), deleted: Type.Literal(true) },
  { title: 'DeletedArtifact' },
)

/** As the document shows it; what a form has is read by `readForm`. */
export const NewArtifact = Type.Object(
  {
    file: Type.String({ format: 'binary', description: 'One file, of at most 16 MiB unless the operator says else.' }),
    kind: Type.Enum([...ARTIFACT_KINDS]),
    name: Type.Optional(Type.String({ maxLength: NAME_MAX, description: 'Without it, the name of the file.' })),
    sha256: Type.Optional(Type.String({ description: 'Refused where the bytes that came have another.' })),
    expires_after_seconds: Type.Optional(
      Type.String({ description: `${EXPIRY.minimum} to ${EXPIRY.maximum}. Without it, kept until it is deleted.` }),
    ),
  },
  { title: 'NewArtifact' },
)

export const ArtifactsQuery = Type.Object({
  sha256: Type.Optional(Type.String({ description: 'Only those of these bytes.' })),
  limit: Type.Optional(Type.String({ description: `How many at most, 1 to ${PAGE_MAX}. Without it, all.` })),
  after: Type.Optional(Type.String({ description: 'Only those behind this one in the list, by its id.' })),
})

export interface Form {
  kind: ArtifactKind
  name: string | undefined
  sha256: string | undefined
  expires_after_ms: number | undefined
}

/** What stands beside the file. Each is text, as a form has it. */
export function readForm(fields: Readonly<Record<string, unknown>>): Form {
  const { kind: named, name, sha256, expires_after_seconds: seconds } = fields as Record<string, string | undefined>
  const kind = ARTIFACT_KINDS.find((one) => one === named)
  if (!kind) throw invalid(`'kind' must be one of ${ARTIFACT_KINDS.join(', ')}`)
  return {
    kind,
    name: nameOf(name),
    sha256: sha256 === undefined ? undefined : digest(sha256),
    expires_after_ms: seconds === undefined ? undefined : 1_000 * wholeNumber('expires_after_seconds', seconds, EXPIRY),
  }
}

function nameOf(given: string | undefined): string | undefined {
  if (given === undefined) return undefined
  if (given.length > NAME_MAX) throw invalid(`'name' must have at most ${NAME_MAX} characters`)
  return label('name', given)
}

export function digest(text: string): string {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw invalid("'sha256' must be 64 hexadecimal digits")
  return text.toLowerCase()
}

export interface Uploaded {
  kind: ArtifactKind
  name: string | null
  media_type: string
  bytes: number
  sha256: string
  expires_after_ms: number | undefined
}

export function createArtifact(project_id: string, uploaded: Uploaded, now: number): Artifact {
  const { kind, name, media_type, bytes, sha256, expires_after_ms } = uploaded
  return {
    id: newId('art'),
    object: 'artifact',
    project_id,
    kind,
    name,
    media_type,
    bytes,
    sha256,
    tokens_est: tokensIn(kind, bytes),
    created_at: rfc3339(now),
    expires_at: expires_after_ms === undefined ? null : rfc3339(now + expires_after_ms),
    last_used_at: null,
  }
}

const BYTES_PER_TOKEN = 4
const IMAGE_TOKENS = 1_000 // by its pixels, whatever its bytes
const BYTES_PER_TOKEN_INLINE = 3 // a document travels as base64, four letters for three bytes

export function tokensIn(kind: ArtifactKind, bytes: number): number {
  if (kind === 'image') return IMAGE_TOKENS
  return Math.ceil(bytes / (kind === 'document' ? BYTES_PER_TOKEN_INLINE : BYTES_PER_TOKEN))
}

export const isArtifactId = (id: unknown): id is string => typeof id === 'string' && id.startsWith('art_')

/** A file's own name is no promise: what nobody could read, or a store not hold, is left out. */
export function fileName(given: string | undefined): string | null {
  const name = given?.slice(0, NAME_MAX).trim() ?? ''
  return name === '' || /\p{Cc}/u.test(name) || !name.isWellFormed() ? null : name
}

/** RFC 6266: never shown in place, whatever it is. */
export function disposition({ id, name }: Artifact): string {
  const plain = (name ?? id).replace(/[^\w.-]/g, '_')
  const encoded = encodeURIComponent(name ?? id).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

/** RFC 9110: whether If-None-Match names the digest. */
export function isNamedBy(header: string | undefined, sha256: string): boolean {
  if (header === undefined) return false
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(`"${sha256}"`)
}

const invalid = (message: string) => new Refusal('invalid_request', `${message}.`)
