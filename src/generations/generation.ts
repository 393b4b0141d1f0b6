// One generation on its way: the call, what became of it so far, and what it has taken and must give back. It moves
// through the steps of generate.ts, each of which is a plain function over it.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Hold } from '../budgets/budget.ts'
import type { Slot } from '../capacity/admission.ts'
import { HeldBytes } from '../core/memory-room.ts'
import { Stop } from '../core/stop-signal.ts'
import type { Reservation } from '../idempotency/idempotency-store.ts'
import type { Allowance } from '../limits/generation-hooks.ts'
import type { Prefill } from '../routing/places.ts'
import type { Attempt, Route, Target } from '../routing/target.ts'
import type { Call } from './call.ts'
import { CallTimer } from './call-timer.ts'
import { Client } from './client.ts'
import type { OnlyCall } from './only-target.ts'
import type { Outcome } from './outcome.ts'
import type { Path } from './path.ts'
import type { PromptReuse } from './prompt-memory.ts'

const NO_ROUTE: Route = { candidates: [], dropped: [], passed_over: [], alias_release_id: undefined }

export class Generation {
  readonly path: Path
  readonly call: Call
  readonly request: FastifyRequest
  readonly allowance: Allowance
  readonly stop = new Stop()
  readonly timer: CallTimer
  readonly client: Client
  route = NO_ROUTE
  /** Of a call that this process makes itself: where it may go, and for how much. */
  only: OnlyCall | undefined = undefined
  /** §11: durable before anything is dialled. */
  reservation: Reservation | undefined = undefined
  attempts: Attempt[] = []
  /** From here on: of the attempt that answered. */
  target!: Target
  slot: Slot | undefined = undefined
  hold: Hold | undefined = undefined
  /** R43: the output limit that the upstream was told, where the budget bought no longer answer. */
  clamped_to: number | undefined = undefined
  /** R81: headers of the upstream's that go on to the client. */
  told: Readonly<Record<string, string>> | undefined = undefined
  /** R81: fields that the target was not told of, because its protocol has no words for them. */
  left_out: readonly string[] = []
  /** What a stream is, where it is not one of events of text. */
  stream_type: string | undefined = undefined
  /** When it had answered: of a stream, when its headers could leave. */
  answered_ms = 0
  /** Null until the first content is there: headers may leave before it (R82). */
  ttft_ms: number | null = null
  /** The conversation was last answered by the same target. */
  is_affine = false
  reuse: PromptReuse | undefined = undefined
  /** Its prompt on its way to a cluster that was chosen among several. */
  prefill: Prefill | undefined = undefined
  /** R82: the headers leave before it is known whether the target is met. */
  is_target_open = false
  /** R78: what of it is in memory: an answer that is not whole yet, or is kept; the body of a keyed call. */
  readonly held: HeldBytes
  /** R78: what it has of its project's room for contents of sessions. */
  contents_bytes = 0
  outcome!: Outcome

  constructor(path: Path, call: Call, { request, reply, allowance }: Arrived) {
    this.path = path
    this.call = call
    this.request = request
    this.allowance = allowance
    this.timer = new CallTimer(call, this.stop, path.clock)
    this.held = new HeldBytes(path.calls_room, call.caller.project_id)
    // R26: a keyed generation is finished and kept, so that the retry replays it; any other ends with its client.
    this.client = new Client(reply, call.kind, call.is_keyed ? undefined : this.timer)
  }

  elapsedMs(): number {
    return this.path.clock.now() - this.call.received_at
  }

  /** R26: nobody will ask for it again, and nobody reads it any more. */
  isAbandoned(): boolean {
    return this.client.left && !this.call.is_keyed
  }

  /** What must not be told on of what the target says. */
  secretOf(target: Target): Promise<string | undefined> {
    return this.path.dialer.secretFor(target, this.call.caller.project_id)
  }

  /** Money that was not settled is not kept back either. A second time changes nothing. */
  async giveBackHold(): Promise<void> {
    const { hold, path } = this
    if (hold) await path.deferred.surely(() => path.slices.release(hold))
  }

  /** §11.6: a failure frees the key at once. */
  async giveBackKey(): Promise<void> {
    const { reservation, path } = this
    if (reservation) await path.deferred.surely(() => path.idempotency.release(reservation))
  }
}

interface Arrived {
  request: FastifyRequest
  reply: FastifyReply
  allowance: Allowance
}
