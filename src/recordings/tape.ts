// One generation while it is being recorded: the parts of its answer as they go to the client, counted against the room
// that all recordings share. Where there is no room, all of it goes: nothing is ever recorded by halves.
import { GatheredParts } from '../core/gathered-parts.ts'
import { type DroppedFor, PART_BYTES, RECORDING_MAX_BYTES, type RecordedCall } from './recording.ts'
import type { RecordingRoom } from './recording-room.ts'

export class Tape {
  readonly call: RecordedCall
  readonly request: Buffer
  /** 0 until the answer begins. */
  status = 0
  is_stream = false
  dropped_for: DroppedFor | undefined = undefined
  readonly #room: RecordingRoom
  readonly #answer = new GatheredParts()
  #taken = 0

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
    if (this.request.length + this.#answer.bytes + part.length > RECORDING_MAX_BYTES) this.drop('too_large')
    else if (this.take(part.length + PART_BYTES)) this.#answer.add(part)
  }

  /** False where there is no room, and then nothing is left of it. */
  take(bytes: number): boolean {
    if (this.#room.take(this.call.project_id, bytes)) {
      this.#taken += bytes
      return true
    }
    this.drop('memory')
    return false
  }

  drop(reason: DroppedFor): void {
    this.dropped_for ??= reason
    this.#answer.take()
    this.giveBack()
  }

  /** A second time changes nothing. */
  giveBack(): void {
    this.#room.giveBack(this.call.project_id, this.#taken)
    this.#taken = 0
  }

  get answer_bytes(): number {
    return this.#answer.bytes
  }

  answer(): readonly Buffer[] {
    return this.#answer.parts()
  }
}
