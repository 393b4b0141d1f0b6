// Contents of artifacts at rest: the port that files, the database and S3 are adapters of, and how contents are sealed,
// part by part, so that no more than a part is ever there twice.
import type { Sealing } from '../core/sealing.ts'

/** Sealed bytes on their way to where they will lie. */
export interface SealedContent {
  bytes: number
  /** May be asked for again where writing is tried again. */
  parts(): Iterable<Buffer>
}

/** Ids are random and never used twice, so nothing is ever written over. */
export interface Contents {
  /** Whole once this resolves, and flushed. */
  write(content_id: string, content: SealedContent): Promise<void>
  /** In parts of any size. Rejects where there is nothing of this id. */
  read(content_id: string): AsyncIterable<Uint8Array>
  /** Whatever there is of it, half written or whole; nothing to erase is fine. */
  erase(content_id: string): Promise<void>
}

export const PLACES = ['files', 'database', 's3'] as const
export type Place = (typeof PLACES)[number]

export interface ContentPlaces {
  /** Where new contents go. */
  place: Place
  /** What was written before the setting was another stays where it is. */
  at: Readonly<Partial<Record<Place, Contents>>>
}

export const PART_BYTES = 256 * 1024
const SEAL_BYTES = 28 // nonce and tag
export const SEALED_PART_BYTES = PART_BYTES + SEAL_BYTES

const placeOf = (content_id: string, part: number, isLast: boolean) =>
  `artifact content ${content_id} part ${part}${isLast ? ' last' : ''}`

/** Parts cannot change places, be left out, or be taken from elsewhere: each is sealed for where it stands. */
export function sealedContent(seals: Sealing, named: Named, plain: readonly Buffer[]): SealedContent {
  const bytes = plain.reduce((sum, part) => sum + part.length, 0)
  const count = partsFor(bytes)
  return {
    bytes: bytes + count * SEAL_BYTES,
    *parts() {
      let part = 0
      for (const pieces of cut(plain, PART_BYTES)) {
        const place = placeOf(named.content_id, part, part === count - 1)
        part++
        yield seals.seal(pieces, named.project_id, place)
      }
    },
  }
}

export interface Named {
  project_id: string
  content_id: string
}

/** Nothing is one empty part. */
export const partsFor = (bytes: number) => Math.max(1, Math.ceil(bytes / PART_BYTES))

/** The plain bytes, part by part. Throws where one is missing, changed or too many. */
export async function* openedContent(
  seals: Sealing,
  named: Named & { bytes: number },
  sealed: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const count = partsFor(named.bytes)
  let part = 0
  for await (const whole of wholeParts(sealed)) {
    yield seals.open(whole, named.project_id, placeOf(named.content_id, part, part === count - 1))
    part++
  }
  if (part !== count) throw new Error(`content ${named.content_id} ends after part ${part} of ${count}`)
}

async function* wholeParts(sealed: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  for await (const piece of sealed) {
    let rest = piece
    while (bytes + rest.length >= SEALED_PART_BYTES) {
      const missing = SEALED_PART_BYTES - bytes
      yield Buffer.concat([...waiting, rest.subarray(0, missing)])
      rest = rest.subarray(missing)
      waiting = []
      bytes = 0
    }
    if (rest.length > 0) waiting.push(rest)
    bytes += rest.length
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}

/** The same bytes in runs of so many, the last of what is left, without copying any. */
function* cut(parts: readonly Buffer[], size: number): Generator<Buffer[]> {
  let run: Buffer[] = []
  let room = size
  for (const part of parts) {
    let rest = part
    while (rest.length > room) {
      run.push(rest.subarray(0, room))
      yield run
      rest = rest.subarray(room)
      run = []
      room = size
    }
    run.push(rest)
    room -= rest.length
  }
  yield run
}
