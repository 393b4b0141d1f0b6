// Recording a generation, for projects that want it: what its client sent is known at its start, what it was sent is
// gathered by its Client, and both are handed over when it has ended. Nobody waits for that.
import type { JsonBody } from '../core/json-bytes.ts'
import { makerOf } from '../core/maker.ts'
import type { Generation } from './generation.ts'

/** Asked only for a caller whose project records. */
export function beginRecording({ path, call, client, request }: Generation): void {
  if (!path.gateway.full_fidelity || call.media) return // §4.16: images, sound, judgements and rankings
  const { caller, trace_id, endpoint } = call
  const { project_id, key_id } = caller
  const body = request.body as JsonBody | undefined
  if (body) client.tape = path.tapes.begin({ trace_id, project_id, key_id, endpoint, ...makerOf(caller) }, body.bytes)
}

/** Calls that this process makes itself are nobody's to read back: whoever makes them keeps what they need of them. */
export function endRecording({ path, client, only }: Generation): void {
  const { tape } = client
  if (tape && only) tape.letGo()
  else if (tape) path.tapes.end(tape)
}
