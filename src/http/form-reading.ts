// Reads a form (multipart/form-data) as it comes: every part is handed over, bounded in number and in bytes. Whoever
// takes a file's bytes may ask for time.
import { Busboy, type BusboyConfig, type BusboyInstance } from '@fastify/busboy'
import type { RequestPayload } from 'fastify'
import { Refusal } from '../core/refusal.ts'

export interface FormBounds {
  /** Of the whole body. */
  most_bytes: number
  parts: NonNullable<BusboyConfig['limits']>
  tooMany(): Refusal
  tooLarge(): Refusal
}

export interface FilePart {
  field: string
  name: string | undefined
  media_type: string
}

/** What they throw refuses the form. */
export interface FormTaker {
  field(name: string, value: string, isCut: boolean): void
  /** What takes the file's bytes; no more come until its promise is kept. The parser uses their room again. */
  file(part: FilePart): (bytes: Buffer) => void | Promise<void>
}

const KIB = 1_024
const HEADER_PAIRS = 16
const HEADER_BYTES = 8 * KIB
const TOLD_CHARACTERS = 64

interface Incoming {
  payload: RequestPayload
  content_type: string
}

export function readForm({ payload, content_type }: Incoming, bounds: FormBounds, taker: FormTaker): Promise<void> {
  const parser = parserFor(content_type, bounds)
  return new Promise((resolve, reject) => {
    let came = 0
    const fail = (error: unknown) => {
      payload.unpipe(parser)
      payload.resume() // what nobody reads any more
      reject(error)
    }
    const broken = (cause: unknown) => fail(notAForm(cause))
    const guarded = (work: () => void) => {
      try {
        work()
      } catch (error) {
        fail(error)
      }
    }
    parser.on('field', (name: string | undefined, value, _, isCut) =>
      guarded(() => taker.field(named(name), value, isCut)),
    )
    parser.on('file', (field: string | undefined, file, name, _, media_type) =>
      guarded(() => {
        const take = taker.file({ field: named(field), name, media_type })
        file.on('limit', () => fail(bounds.tooLarge()))
        file.on('error', broken)
        file.on('data', (bytes: Buffer) =>
          guarded(() => {
            const waits = take(bytes)
            if (!waits) return
            file.pause()
            waits.then(() => file.resume(), fail)
          }),
        )
      }),
    )
    for (const limit of ['filesLimit', 'fieldsLimit', 'partsLimit'] as const)
      parser.on(limit, () => fail(bounds.tooMany()))
    parser.on('error', broken)
    parser.on('finish', resolve)
    payload.on('data', (part: Buffer) => {
      came += part.length
      if (came > bounds.most_bytes) fail(bounds.tooLarge())
    })
    payload.on('error', broken)
    payload.on('close', () => payload.readableEnded || broken(new Error('the client left')))
    payload.pipe(parser)
  })
}

function parserFor(content_type: string, { parts }: FormBounds): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': content_type },
      limits: { headerPairs: HEADER_PAIRS, headerSize: HEADER_BYTES, ...parts },
    })
  } catch (cause) {
    throw new Refusal('invalid_request', "'Content-Type' must name the boundary of the form.", { cause })
  }
}

function named(name: string | undefined): string {
  if (name === undefined) throw new Refusal('invalid_request', 'Every part of a form must have a name.')
  return name
}

const notAForm = (cause: unknown) =>
  new Refusal('invalid_request', 'The body is not a valid form (multipart/form-data).', { cause })

/** A name of the client's choice, fit for a message. */
export const toldName = (name: string) =>
  String(name)
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, TOLD_CHARACTERS)
