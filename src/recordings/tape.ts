// One generation while it is being recorded: its answer as it goes to the client, counted against the room that all
// recordings share. Where there is no room, all of it goes: nothing is ever recorded by halves.
import { GrowingBytes } from './growing-bytes.ts'
import { type DroppedFor, RECORDING_MAX_BYTES, type RecordedCall } from './recording.ts'
import type { RecordingRoom } from './recording-room.ts'

export class Tape {
  readonly call: RecordedCall
  readonly request: Buffer
  /** 0 until the answer begins. */
  status = 0
  is_stream = false
  dropped_for: DroppedFor | undefined = undefined
  readonly #room: RecordingRoom
  /** An answer that came whole is where it is; the parts of a stream are copied together. */
  #whole: Buffer | undefined = undefined
  #streamed: GrowingBytes | undefined = undefined

  constructor(call: RecordedCall, request: Buffer, room: RecordingRoom) {
    this.call = call
    this.request = request
    this.#room = room
  }

  begin(status: number, is_stream = false): void {
    this.status = status
    this.is_stream = is_stream
  }

  /** What is about to be sent. */
  add(part: Buffer): void {
    if (this.dropped_for) return
    if (this.request.length + this.answer_bytes + part.length > RECORDING_MAX_BYTES) this.drop('too_large')
    else if (!this.is_stream) this.#whole = part
    else if (!this.#append(part)) this.drop('memory')
  }

  #append(part: Buffer): boolean {
    this.#streamed ??= new GrowingBytes(this.#room.running, this.call.project_id)
    if (!this.#streamed.reserve(part.length)) return false
    this.#streamed.append(part)
    return true
  }

  drop(reason: DroppedFor): void {
    this.dropped_for ??= reason
    this.letGo()
  }

  /** A second time changes nothing. */
  letGo(): void {
    this.#whole = undefined
    this.#streamed?.letGo()
    this.#streamed = undefined
  }

  get answer_bytes(): number {
    return this.#whole?.length ?? this.#streamed?.used ?? 0
  }

  answer(): Buffer {
    return this.#whole ?? this.#streamed?.bytes() ?? Buffer.alloc(0)
  }
}
