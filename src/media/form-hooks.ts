// Forms on their way in (multipart/form-data): texts are held, within a bound; files go into a spool as they come, so
// that no more than 1 MiB of a form is ever in memory.
import type { FastifyInstance, FastifyRequest, RequestPayload } from 'fastify'
import type { JsonBody } from '../core/json-bytes.ts'
import { Refusal } from '../core/refusal.ts'
import { Spool, type SpoolRoom } from '../core/spool.ts'
import { type FilePart, type FormBounds, readForm, toldName } from '../http/form-reading.ts'
import { onceClosed } from '../http/once-closed.ts'
import type { FormFile, FormText } from './media-form.ts'

const MIB = 2 ** 20
export const FORM_MAX_BYTES = 100 * MIB
const TEXTS_MAX_BYTES = 256 * 1024
const PARTS_MAX = 64
const HEAD_BYTES = 64
const FILE_MEMORY_BYTES = 16 * 1024 // of each: all of them together are 1 MiB at the most

/** Which texts are something else: what decides about money is of its type, or told by name (R76). */
const SWITCHES = ['stream']
const COUNTS = ['n', 'partial_images']
/** What may stand there several times. */
const REPEATED = /\[\]$/

/** Whoever takes it lets go of it; where the call is refused before anybody did, the end of the answer does. */
export interface ReceivedForm extends JsonBody {
  parts: readonly (FormText | FormFile)[]
  /** Its texts, by their names; it has no bytes of its own. */
  json: Readonly<Record<string, unknown>>
  /** Of its texts. */
  text_bytes: number
  is_taken: boolean
  letGo(): void
}

/** What the bytes of a project's forms are counted by. */
export interface FormRoom {
  place(project_id: string): { take(bytes: number): void; giveBack(): void }
}

declare module 'fastify' {
  interface FastifyRequest {
    received_form: ReceivedForm | undefined
    /** It was answered, or its client is gone. */
    has_left: boolean
  }
}

export function readForms(app: FastifyInstance, room: FormRoom): void {
  app.decorateRequest('received_form', undefined)
  app.decorateRequest('has_left', false)
  app.addHook('onRequest', (request, reply, done) => {
    onceClosed(reply.raw, () => {
      const { received_form } = request
      request.has_left = true
      if (!received_form?.is_taken) received_form?.letGo()
    })
    done()
  })
  // Else a client would be told to send JSON, which these endpoints do not take.
  app.addContentTypeParser('*', (_request: FastifyRequest, _payload: RequestPayload, done: (error: Error) => void) =>
    done(new Refusal('unsupported_media_type', AS_FORM)),
  )
  app.addHook('preValidation', (request, _reply, done) => done(request.received_form ? undefined : invalid(AS_FORM)))
  app.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, payload: RequestPayload) => {
    const place = room.place(request.caller.project_id)
    const reading = new FormReading(place)
    const letGo = () => {
      reading.close()
      place.giveBack()
    }
    try {
      await reading.all(payload, request.headers['content-type'] ?? '')
      if (request.has_left) throw invalid('The client left while its form was read.')
      request.received_form = { letGo, is_taken: false, ...reading.form() }
      return request.received_form
    } catch (error) {
      letGo()
      throw error
    }
  })
}

class FormReading {
  readonly #place: SpoolRoom
  readonly #spools: Spool[] = []
  readonly #parts: (FormText | FormFile)[] = []
  readonly #fields: Record<string, unknown> = Object.create(null)
  #text_bytes = 0

  constructor(place: SpoolRoom) {
    this.#place = place
  }

  close(): void {
    for (const spool of this.#spools) spool.close()
  }

  all(payload: RequestPayload, content_type: string): Promise<void> {
    return readForm({ payload, content_type }, BOUNDS, {
      field: (name, value, isCut) => this.#field(name, value, isCut),
      file: (part) => {
        const begun = this.#begin(part)
        return (bytes) => this.#add(begun, bytes)
      },
    })
  }

  form(): Omit<ReceivedForm, 'letGo' | 'is_taken'> {
    return { parts: this.#parts, json: { ...this.#fields }, bytes: NOTHING, text_bytes: this.#text_bytes }
  }

  #field(name: string, value: string, isCut: boolean): void {
    this.#text_bytes += name.length + Buffer.byteLength(value)
    if (isCut || this.#text_bytes > TEXTS_MAX_BYTES)
      throw invalid(`'${toldName(name)}': the texts of a form have at most ${TEXTS_MAX_BYTES} bytes together.`)
    if (name in this.#fields && !REPEATED.test(name)) throw invalid(`'${toldName(name)}' is given more than once.`)
    this.#fields[name] = typed(name, value)
    this.#parts.push({ kind: 'text', name, value })
  }

  /** Each has a spool of its own: one may begin before all of the last was written. */
  #begin({ field: name, name: file_name, media_type }: FilePart): Begun {
    const content = new Spool(this.#place, FILE_MEMORY_BYTES)
    const type = /^[\x20-\x7e]+$/.test(media_type) ? media_type : 'application/octet-stream'
    const file: FormFile = { kind: 'file', name, file_name, media_type: type, head: NOTHING, content }
    this.#parts.push(file)
    this.#spools.push(content)
    return { file, content }
  }

  #add({ file, content }: Begun, part: Buffer): void | Promise<void> {
    if (file.head.length < HEAD_BYTES) file.head = Buffer.concat([file.head, part]).subarray(0, HEAD_BYTES)
    return content.add(Buffer.from(part)) // the parser uses its own room again
  }
}

interface Begun {
  file: FormFile
  content: Spool
}

const NOTHING = Buffer.alloc(0)

/** A text that is no such value stays one, and is refused where its field is read. */
function typed(name: string, value: string): unknown {
  if (SWITCHES.includes(name) && (value === 'true' || value === 'false')) return value === 'true'
  return COUNTS.includes(name) && /^\d{1,9}$/.test(value) ? Number(value) : value
}

const AS_FORM = 'Send the body as a form, with the header Content-Type: multipart/form-data.'

const invalid = (message: string) => new Refusal('invalid_request', message)

const BOUNDS: FormBounds = {
  most_bytes: FORM_MAX_BYTES,
  parts: { fieldSize: TEXTS_MAX_BYTES, fields: PARTS_MAX, files: PARTS_MAX, parts: PARTS_MAX },
  tooMany: () => invalid(`A form has at most ${PARTS_MAX} parts.`),
  tooLarge: () => new Refusal('body_too_large', `A form has at most ${FORM_MAX_BYTES / MIB} MiB.`),
}
