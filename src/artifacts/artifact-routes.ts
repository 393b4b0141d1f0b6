// /v2/artifacts: content that prompts share, uploaded once and named in them by `file_id`.
import { Readable } from 'node:stream'
import { type Static, Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { rfc3339 } from '../core/clock.ts'
import { madeByAnother, makerOf } from '../core/maker.ts'
import type { MemoryRoom } from '../core/memory-room.ts'
import { Refusal } from '../core/refusal.ts'
import { allows } from '../core/scopes.ts'
import { listOf } from '../core/shapes.ts'
import { wholeNumber } from '../core/text-values.ts'
import { found, page, type Routes } from '../http/routes.ts'
import { endWhereStalled } from '../http/unread-answers.ts'
import { firstOf, sendList } from '../http/whole-list.ts'
import type { Db } from '../storage/db.ts'
import {
  Artifact,
  ArtifactsQuery,
  DeletedArtifact,
  digest,
  disposition,
  FILE_MIB_MOST,
  fileName,
  isNamedBy,
  NewArtifact,
  PAGE_MAX,
  readForm,
} from './artifact.ts'
import { artifactStore, type StoredArtifact } from './artifact-store.ts'
import type { KeptArtifacts, Upload } from './kept-artifact-store.ts'
import { mediaTypeOf } from './media-type.ts'
import { FORM_BYTES, readUploads, type UploadedForm, whileStoring } from './upload-hooks.ts'

const Params = Type.Object({ artifact_id: Type.String({ description: 'Begins `art_`.' }) })
const upload = { scope: 'inference', class: 'read' } as const // R3: contents belong to whoever makes the calls
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Artifacts']
const MIB = 2 ** 20

interface Needs {
  clock: Clock
  artifacts: KeptArtifacts
  room: MemoryRoom
  limits: { max_mib: number }
}

export const artifactRoutes: Routes<Needs> = async (app, { clock, artifacts, room, limits }) => {
  readUploads(app, room, { file_bytes: () => limits.max_mib * MIB })

  const visible = async (db: Db, caller: Caller, id: string): Promise<StoredArtifact> => {
    const stored = found(await artifacts.find(db, caller.project_id, id), 'artifact', id)
    if (!(await maySee(db, caller, id))) throw madeByAnother(`The artifact '${id}'`)
    return stored
  }

  app.post(
    '/v2/artifacts',
    {
      config: { ...upload, idempotency: 'outside' },
      bodyLimit: FILE_MIB_MOST * MIB + FORM_BYTES,
      validatorCompiler: () => () => true, // a form's fields are text, which `readForm` reads
      schema: {
        tags,
        summary: 'Upload an artifact',
        description:
          'Bytes and kind that the project has already give the artifact that is there; it is then kept until the ' +
          'later of both ends. `tools` are a JSON array of tools as the chat API has them.',
        consumes: ['multipart/form-data'],
        body: NewArtifact,
        response: { 200: Artifact },
      },
    },
    async (request) => {
      const { caller, body } = request
      return whileStoring(request, async () => artifacts.keep(caller.project_id, uploadOf(caller, body)))
    },
  )

  app.get(
    '/v2/artifacts',
    {
      config: watch,
      schema: {
        tags,
        summary: 'List artifacts, newest first',
        description: 'All of them in one answer. With `limit`, at most so many: `after` with the last id gives more.',
        querystring: ArtifactsQuery,
        response: { 200: listOf(Artifact) },
      },
    },
    async ({ caller, query, db }, reply) => {
      const { limit, ...asked } = await askedIn(query, (id) => artifacts.find(db, caller.project_id, id))
      const now = rfc3339(clock.now())
      const all = artifactStore(db).list(caller.project_id, asked, now)
      return limit === undefined ? sendList(reply, all, Artifact) : page(await firstOf(all, limit + 1), limit)
    },
  )

  app.get(
    '/v2/artifacts/:artifact_id',
    { config: watch, schema: { tags, summary: 'Retrieve an artifact', params: Params, response: { 200: Artifact } } },
    async ({ caller, params: { artifact_id: id }, db }) =>
      found(await artifacts.find(db, caller.project_id, id), 'artifact', id).artifact,
  )

  app.get(
    '/v2/artifacts/:artifact_id/content',
    {
      config: watch,
      schema: {
        tags,
        summary: 'Retrieve the bytes of an artifact',
        description:
          'With its digest as `ETag`; `If-None-Match` with it is answered 304. Always an attachment. Of one that was ' +
          'uploaded with another key, it needs the `admin` scope.',
        params: Params,
        response: {
          200: { description: 'The bytes.', content: { '*/*': { schema: Type.String({ format: 'binary' }) } } },
          304: Type.Null({ description: 'The bytes are those of `If-None-Match`.' }),
        },
      },
    },
    async ({ caller, params, headers, db }, reply) => {
      const stored = await visible(db, caller, params.artifact_id)
      const { sha256, media_type, bytes } = stored.artifact
      reply.header('etag', `"${sha256}"`)
      if (isNamedBy(headers['if-none-match'], sha256)) return reply.code(304).send('' as never)
      const content = await begun(artifacts.contentOf(stored))
      reply.headers({ 'content-type': media_type, 'content-length': bytes, ...asAttachment(stored) })
      endWhereStalled(reply.raw)
      return Readable.from(content, { objectMode: false }) as never
    },
  )

  app.delete(
    '/v2/artifacts/:artifact_id',
    {
      config: upload,
      schema: {
        tags,
        summary: 'Delete an artifact',
        description:
          'References to it are dead from then on; the same bytes get a new id. One that another key uploaded as ' +
          'well needs the `admin` scope.',
        params: Params,
        response: { 200: DeletedArtifact },
      },
    },
    async ({ caller, params: { artifact_id: id }, db }) => {
      await visible(db, caller, id)
      if (!(await isOnlyTheirs(db, caller, id))) throw alsoAnothers(id)
      found((await artifacts.remove(caller.project_id, id)) || undefined, 'artifact', id)
      return { id, object: 'artifact.deleted' as const, deleted: true as const }
    },
  )
}

function uploadOf(caller: Caller, body: unknown): Upload {
  const uploaded = body as UploadedForm | undefined
  if (!uploaded?.file) throw new Refusal('invalid_request', "'file' is required, in a form (multipart/form-data).")
  const { file } = uploaded
  const form = readForm(uploaded)
  if (form.sha256 !== undefined && form.sha256 !== file.sha256)
    throw new Refusal('invalid_request', `'sha256' does not match the file, whose digest is ${file.sha256}.`)
  return {
    kind: form.kind,
    name: form.name ?? fileName(file.name),
    media_type: mediaTypeOf(form.kind, file.media_type, file.parts),
    bytes: file.bytes,
    sha256: file.sha256,
    expires_after_ms: form.expires_after_ms,
    maker: makerOf(caller),
    parts: file.parts,
  }
}

/** R74: whoever uploaded the bytes has them; anybody else needs `admin`. */
export async function maySee(db: Db, caller: Caller, artifact_id: string): Promise<boolean> {
  const { key_id, person_id = key_id, project_id, scopes } = caller
  return allows(scopes, 'admin') || artifactStore(db).isMadeBy(project_id, artifact_id, person_id)
}

async function isOnlyTheirs(db: Db, caller: Caller, artifact_id: string): Promise<boolean> {
  const { key_id, person_id = key_id, project_id, scopes } = caller
  if (allows(scopes, 'admin')) return true
  return (await artifactStore(db).makersBeside(project_id, artifact_id, person_id)).length === 0
}

const alsoAnothers = (id: string) =>
  new Refusal(
    'insufficient_scope',
    `The artifact '${id}' was uploaded with another key too. Deleting it needs 'admin'.`,
  )

/** Whatever it is, a browser neither shows nor runs it. */
const asAttachment = ({ artifact }: StoredArtifact) => ({
  'content-disposition': disposition(artifact),
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
})

/** With its first part there: what cannot be read at all is told before anything is sent. */
async function begun(content: AsyncIterable<Buffer>): Promise<AsyncIterable<Buffer>> {
  const parts = content[Symbol.asyncIterator]()
  const first = await parts.next()
  return (async function* () {
    if (!first.done) yield first.value
    yield* { [Symbol.asyncIterator]: () => parts }
  })()
}

async function askedIn(
  { sha256, limit, after }: Static<typeof ArtifactsQuery>,
  find: (id: string) => Promise<StoredArtifact | undefined>,
) {
  const behind = after === undefined ? undefined : await find(after)
  if (after !== undefined && !behind) throw new Refusal('invalid_request', "'after' must be the id of an artifact.")
  return {
    sha256: sha256 === undefined ? undefined : digest(sha256),
    after: behind,
    limit: limit === undefined ? undefined : wholeNumber('limit', limit, { minimum: 1, maximum: PAGE_MAX }),
  }
}
