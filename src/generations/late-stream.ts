// R71: what becomes of a stream whose deadline passes after it has begun. Within the project's waiver of the day it
// ends, and nothing is charged; beyond that it runs on, and is. Nothing goes to the client while that is being decided.
// One that comes to a limit of ours ends in any case, and is charged beyond the waiver.
import type { FastifyError } from 'fastify'
import type { SseFrames } from '../answers/sse-frames.ts'
import { streamedTokens } from '../answers/token-counts.ts'
import { asRefusal, tellTrouble } from '../http/answers.ts'
import type { Forwarded } from './call-timer.ts'
import { chargeFor } from './charge.ts'
import { isAway } from './deferred-writes.ts'
import type { Generation } from './generation.ts'

/** Nothing is asked or decided for a call that has no deadline and comes to no limit. */
export class LateStream implements Forwarded {
  /** Known at the start: where it is false, `agent-hints-honored` does not name `qos`. */
  readonly is_promised: boolean
  /** While it is being decided; undefined at all other times. */
  asking: Promise<void> | undefined = undefined
  waived_micros = 0
  #fate: 'waived' | 'outlived' | undefined = undefined
  readonly #generation: Generation
  readonly #frames: Pick<SseFrames, 'usage' | 'quarterTokens'>

  constructor(generation: Generation, frames: Pick<SseFrames, 'usage' | 'quarterTokens'>) {
    this.#generation = generation
    this.#frames = frames
    const { path, call, timer } = generation
    const { project_id } = call.caller
    this.is_promised =
      call.deadline_at === undefined || path.waivers.mayHave(project_id, this.#cost(), path.clock.now())
    timer.forwards(this)
  }

  get isWaived(): boolean {
    return this.#fate === 'waived'
  }

  /** Ran past a deadline that its headers had promised to keep. */
  get isOutlived(): boolean {
    return this.is_promised && this.#fate === 'outlived'
  }

  hasContent(): boolean {
    return this.#generation.ttft_ms !== null
  }

  atDeadline(): void {
    this.asking = this.#decide().finally(() => {
      this.asking = undefined
    })
  }

  async #decide(): Promise<void> {
    const { timer } = this.#generation
    if (this.#generation.isAbandoned()) return // who left pays for what was produced: no deadline changes that
    const micros = this.hasContent() ? this.#cost() : 0 // R44: nobody pays for a stream without content
    const is_waived = this.is_promised && (micros === 0 || (await this.#waive(micros)))
    this.#fate = is_waived ? 'waived' : 'outlived'
    if (!is_waived) return timer.runOn()
    this.waived_micros = micros
    timer.end()
  }

  /** Of one that we have broken off: true where nobody pays for it. */
  async isLetOff(): Promise<boolean> {
    if (this.isWaived) return true
    const micros = this.hasContent() ? this.#cost() : 0
    if (micros > 0 && !(await this.#waive(micros))) return false
    this.waived_micros = micros
    return true
  }

  /** What would be charged for all that has come, of a stream that has begun. */
  #cost(): number {
    const { call, target, hold } = this.#generation
    const { cost_micros } = chargeFor(target, streamedTokens(call, this.#frames), 0)
    return hold ? Math.min(cost_micros, hold.micros) : cost_micros
  }

  /** One decision of the store; false where it cannot be asked, too. */
  async #waive(micros: number): Promise<boolean> {
    const { path, call, request } = this.#generation
    try {
      return await path.waivers.take(call.caller.project_id, micros, path.clock.now())
    } catch (error) {
      if (!isAway(error)) tellTrouble(asRefusal(error as FastifyError), error as Error, request)
      return false
    }
  }
}
