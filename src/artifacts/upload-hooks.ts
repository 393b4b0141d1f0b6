// Uploads as multipart/form-data, read as they come: fields in any order, one file, each part of which is held once,
// counted against the room that all uploads share, and hashed on its way in.
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest, RequestPayload } from 'fastify'
import type { MemoryRoom, RoomPlace } from '../core/memory-room.ts'
import { Refusal } from '../core/refusal.ts'
import { type FilePart, type FormBounds, readForm, toldName } from '../http/form-reading.ts'
import { onceClosed } from '../http/once-closed.ts'

/** Its fields by their names, all of them text, and the file. */
export type UploadedForm = Readonly<Record<string, unknown>> & { file: UploadedFile }

export interface UploadedFile {
  name: string | undefined
  media_type: string
  parts: readonly Buffer[]
  bytes: number
  sha256: string
}

export interface UploadLimits {
  file_bytes(): number
}

const FIELDS_MAX = 16
const FIELD_BYTES = 1_024
export const FORM_BYTES = 64 * 1024 // what may stand around the file
const KIB = 1_024
/** Copied together: what a socket gives in drips would cost many times its bytes to keep. */
const BLOCK_BYTES = 64 * KIB

declare module 'fastify' {
  interface FastifyRequest {
    /** The memory that an upload takes. */
    upload_room: RoomPlace | undefined
    /** Its bytes are being stored: they are in memory, whether its client is still there or not. */
    stores_upload: boolean
  }
}

export function readUploads(app: FastifyInstance, room: MemoryRoom, limits: UploadLimits): void {
  app.decorateRequest('upload_room', undefined)
  app.decorateRequest('stores_upload', false)
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method !== 'POST') return done()
    const place = room.place(request.caller.project_id)
    request.upload_room = place
    const over = () => {
      if (!request.stores_upload) place.giveBack()
    }
    onceClosed(reply.raw, over)
    reply.raw.once('finish', over)
    done()
  })
  app.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, payload: RequestPayload) => {
    const place = request.upload_room ?? room.place(request.caller.project_id)
    try {
      const reading = new Reading(place, limits)
      await reading.all(payload, request.headers['content-type'] ?? '')
      return reading.form()
    } catch (error) {
      place.giveBack()
      throw error
    }
  })
}

/** R78: whoever leaves while slow storage writes has their bytes counted until it has. */
export async function whileStoring<T>(request: FastifyRequest, store: () => Promise<T>): Promise<T> {
  request.stores_upload = true
  try {
    return await store()
  } finally {
    request.stores_upload = false
    request.upload_room?.giveBack()
  }
}

/** One form on its way in. */
class Reading {
  readonly #place: RoomPlace
  readonly #file_bytes: number
  readonly #fields = new Map<string, string>()
  readonly #hash = createHash('sha256')
  readonly #blocks: Buffer[] = []
  /** In the last block. */
  #room = 0
  #bytes = 0
  #name: string | undefined = undefined
  #media_type = ''
  #has_file = false

  constructor(place: RoomPlace, limits: UploadLimits) {
    this.#place = place
    this.#file_bytes = limits.file_bytes()
  }

  all(payload: RequestPayload, content_type: string): Promise<void> {
    return readForm({ payload, content_type }, boundsFor(this.#file_bytes), {
      field: (name, value, isCut) => this.#field(name, value, isCut),
      file: (part) => {
        this.#begin(part)
        return (bytes) => this.#add(bytes)
      },
    })
  }

  form(): UploadedForm {
    if (!this.#has_file) throw invalid("'file' is required: one part of the form, with a file name.")
    if (this.#bytes === 0) throw invalid("'file' must not be empty.")
    const file = {
      name: this.#name,
      media_type: this.#media_type,
      parts: this.#parts(),
      bytes: this.#bytes,
      sha256: this.#hash.digest('hex'),
    }
    return { ...Object.fromEntries(this.#fields), file }
  }

  #field(name: string, value: string, isCut: boolean): void {
    if (name === 'file') throw invalid("'file' must be a file: a part of the form with a file name.")
    if (isCut) throw invalid(`'${toldName(name)}' must have at most ${FIELD_BYTES} bytes.`)
    if (this.#fields.has(name)) throw invalid(`'${toldName(name)}' is given twice.`)
    this.#fields.set(name, value)
  }

  #begin({ field, name, media_type }: FilePart): void {
    if (field !== 'file') throw invalid("The file must be the form's field 'file'.")
    this.#has_file = true
    this.#name = name
    this.#media_type = media_type
  }

  #add(part: Buffer): void {
    this.#hash.update(part)
    this.#bytes += part.length
    for (let rest = part; rest.length > 0; ) {
      if (this.#room === 0) {
        this.#place.take(BLOCK_BYTES)
        this.#blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES))
        this.#room = BLOCK_BYTES
      }
      const taken = rest.copy(this.#blocks.at(-1) as Buffer, BLOCK_BYTES - this.#room)
      this.#room -= taken
      rest = rest.subarray(taken)
    }
  }

  #parts(): Buffer[] {
    const last = this.#blocks.pop()
    return last ? [...this.#blocks, last.subarray(0, BLOCK_BYTES - this.#room)] : []
  }
}

const boundsFor = (file_bytes: number): FormBounds => ({
  most_bytes: file_bytes + FORM_BYTES,
  parts: { fieldSize: FIELD_BYTES, fields: FIELDS_MAX, files: 1, fileSize: file_bytes, parts: FIELDS_MAX + 1 },
  tooMany: () => invalid(`A form has one 'file' and at most ${FIELDS_MAX} fields.`),
  tooLarge: () => new Refusal('body_too_large', `'file' must have at most ${file_bytes / KIB / KIB} MiB.`),
})

const invalid = (message: string) => new Refusal('invalid_request', message)
