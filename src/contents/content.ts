// Large contents at rest, of any room: the port that files, the database and S3 are adapters of, and how contents are
// sealed, part by part, so that no more than a part is ever there twice.
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

/** Which content it is, and where it lies: what the row that has it says. */
export interface Content {
  content_id: string
  place: Place
}

/** Whose contents they are. */
export const KEEPERS = ['artifacts', 'recordings'] as const
export type Keeper = (typeof KEEPERS)[number]

/**
 * What a room that keeps contents does with them. Bytes come first, under an id that is written down, then the row
 * that has them; the row goes first, then the bytes. So there is never a row without its contents, and contents without
 * a row are swept. `Tx` is a database, or a transaction of it.
 */
export interface KeptContents<Tx> {
  /** Sealed, whole and flushed once this resolves; nobody's until `settle`. Where it fails, nothing is left. */
  write(project_id: string, plain: readonly Buffer[]): Promise<Content>
  /** In the transaction that gives it to a row. False where the sweep has taken it for left behind. */
  settle(tx: Tx, content: Content): Promise<boolean>
  /** In the transaction that takes it from its row, or once it is known that none will have it. */
  letGo(tx: Tx, project_id: string, content: Content): Promise<void>
  /** After that. Where it fails, the sweep comes back to it. */
  erase(content: Content): Promise<void>
  /** How many of a project were let go and are still there. */
  due(tx: Tx, project_id: string): Promise<number>
  /** Erases them. Where one cannot be reached, the others are erased all the same, and it rejects. */
  eraseDue(project_id: string): Promise<void>
  /** Its plain bytes, a part at a time. */
  read(project_id: string, content: Content, bytes: number): AsyncIterable<Buffer>
}

export const PART_BYTES = 256 * 1024
const SEAL_BYTES = 28 // nonce and tag
export const SEALED_PART_BYTES = PART_BYTES + SEAL_BYTES

/** Part of what it is sealed with: the words never change, whoever has the contents. */
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
