// Bodies that came compressed (Content-Encoding), read as they come and no further than the route's limit: what a small
// body blows up to is never held, and hardly computed.
import { Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import type { FastifyInstance, preParsingHookHandler, RequestPayload } from 'fastify'
import { Refusal } from '../core/refusal.ts'

const PART_BYTES = 64 * 1024
/** No prompt shrinks so much; what does is made to keep a processor busy. */
const BLOWN_UP_BY = 200
const BLOWN_UP_BYTES = 1024 * 1024

const decoding = { chunkSize: PART_BYTES }

/** Not in every version of Node that we run on. */
const { createZstdDecompress } = zlib as { createZstdDecompress?: (options: typeof decoding) => Transform }

const DECODERS = new Map<string, () => Transform>([
  ['gzip', () => zlib.createGunzip(decoding)],
  ['x-gzip', () => zlib.createGunzip(decoding)],
  ['deflate', () => zlib.createInflate(decoding)],
  ['br', () => zlib.createBrotliDecompress(decoding)],
])
if (createZstdDecompress) DECODERS.set('zstd', () => createZstdDecompress(decoding))

export const ENCODINGS = [...DECODERS.keys()].filter((name) => name !== 'x-gzip')

/** On the route, so that a kept answer is replayed before anybody looks at the body (R24). */
export function readEncodedBodies(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.method === 'GET' || route.method === 'HEAD') return
    route.preParsing = [...[route.preParsing ?? []].flat(), decode]
  })
}

const decode: preParsingHookHandler = (request, _reply, payload, done) => {
  const named = request.headers['content-encoding']
  if (named === undefined) return done(null, payload)
  const coding = named.trim().toLowerCase()
  if (coding === 'identity' || coding === '') return done(null, payload)
  const decoder = DECODERS.get(coding)
  if (!decoder) return done(unknownEncoding(named))
  done(null, decoded(payload, { coding, decoder: decoder(), limit: request.route.bodyLimit }))
}

/** How much of what came it has read; streams of node:zlib tell. */
const takenIn = (decoder: Transform) => (decoder as Transform & { bytesWritten: number }).bytesWritten

interface Decoding {
  coding: string
  decoder: Transform
  limit: number
}

/** `receivedEncodedLength` is what Fastify holds against Content-Length, and against the limit. */
export function decoded(payload: RequestPayload, { coding, decoder, limit }: Decoding): RequestPayload {
  const body = Readable.from(parts(), { objectMode: false }) as RequestPayload
  body.receivedEncodedLength = 0
  return body

  async function* parts() {
    const onAbort = () => decoder.destroy(new Error('the client left'))
    payload.on('data', (part: Buffer) => {
      body.receivedEncodedLength = (body.receivedEncodedLength ?? 0) + part.length
    })
    payload.once('error', onAbort)
    payload.pipe(decoder)
    let bytes = 0
    try {
      for await (const part of decoder) {
        bytes += part.length
        if (bytes > BLOWN_UP_BYTES && bytes > BLOWN_UP_BY * takenIn(decoder)) throw blownUp()
        yield part
        if (bytes > limit) return // the reader has been told by this part that it is too large
      }
    } catch (cause) {
      if (cause instanceof Refusal) throw cause
      throw new Refusal('invalid_request', `The body is not valid ${coding}, as 'Content-Encoding' says it is.`, {
        cause,
      })
    } finally {
      payload.off('error', onAbort)
      payload.on('error', () => {}) // what is not wanted any more may break off
      payload.unpipe(decoder)
      decoder.destroy()
      payload.resume()
    }
  }
}

function unknownEncoding(named: string): Refusal {
  const told = named.replace(/[^\x20-\x7e]/g, '?').slice(0, 100)
  return new Refusal(
    'unsupported_media_type',
    `'Content-Encoding' must be one of ${ENCODINGS.join(', ')}, or absent; '${told}' is not read here.`,
    { headers: { 'accept-encoding': ENCODINGS.join(', ') } },
  )
}

const blownUp = () =>
  new Refusal('body_too_large', `The body unpacks to more than ${BLOWN_UP_BY} times its size, which is not read here.`)
