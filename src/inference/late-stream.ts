// R71: what becomes of a stream whose deadline passes after it has begun. Within the project's waiver of the day it
// ends, and nothing is charged; beyond that it runs on, and is. Nothing goes to the client while that is being decided.
import {
  type Headers,
  HONORED,
  honoredHeader,
  MONEY_TRAILERS,
  type QosFacts,
  TARGET_MET,
} from '../headers/agent-headers.ts'
import type { Call } from './call.ts'
import type { CallTimer } from './call-timer.ts'
import { chargeFor } from './charge.ts'
import type { Dispatched } from './dispatch.ts'
import { targetMet } from './qos.ts'
import type { SseFrames } from './sse-frames.ts'
import { streamedTokens } from './token-counts.ts'

export interface LateStages {
  /** R44: how long the call may take. */
  timer: Pick<CallTimer, 'forwards' | 'atDeadline' | 'end' | 'runOn'>
  /** Whether so much may be left to waive today, by what is known here. */
  mayWaive(call: Call, micros: number): boolean
  /** One decision of the store; false where it cannot be asked, too. Never rejects. */
  waive(call: Call, micros: number): Promise<boolean>
}

interface Run {
  call: Call
  got: Pick<Dispatched, 'target' | 'hold' | 'ttft_ms'>
  stages: LateStages
}

interface Stream {
  frames: Pick<SseFrames, 'usage' | 'quarterTokens'>
  /** The client has left, and pays for what was produced: no deadline changes that. */
  isAbandoned(): boolean
}

export type LateStream = ReturnType<typeof lateStream>

/** Nothing is asked or decided for a call without a deadline. */
export function lateStream({ call, got, stages }: Run, { frames, isAbandoned }: Stream) {
  const { timer, mayWaive, waive } = stages
  const has_deadline = call.deadline_at !== undefined
  const promised = !has_deadline || mayWaive(call, cost())
  let asking: Promise<void> | undefined
  let fate: 'waived' | 'outlived' | undefined
  let waived_micros = 0

  /** What would be charged for all that has come, of a stream that has begun. */
  function cost(): number {
    const { cost_micros } = chargeFor(got.target, streamedTokens(call, frames), 0)
    return got.hold ? Math.min(cost_micros, got.hold.micros) : cost_micros
  }

  async function decide(): Promise<void> {
    if (isAbandoned()) return
    const micros = got.ttft_ms === null ? 0 : cost() // R44: nobody pays for a stream without content
    const is_waived = promised && (micros === 0 || (await waive(call, micros)))
    fate = is_waived ? 'waived' : 'outlived'
    if (!is_waived) return timer.runOn()
    waived_micros = micros
    timer.end()
  }

  timer.forwards(() => got.ttft_ms !== null)
  if (has_deadline)
    timer.atDeadline(() => {
      asking = decide().finally(() => {
        asking = undefined
      })
    })

  return {
    /** Known at the start: where it is false, `agent-hints-honored` does not name `qos`. */
    promised,
    /** Ran past a deadline that its headers had promised to keep. */
    isOutlived: () => promised && fate === 'outlived',
    isWaived: () => fate === 'waived',
    waivedMicros: () => waived_micros,
    /** While it is being decided; undefined at all other times. */
    asking: () => asking,
  }
}

interface Told {
  qos: QosFacts
}

interface End<Facts> {
  facts: Facts
  trailers: Headers
  hints_at_end: readonly string[] | undefined
}

type Open = Pick<Run, 'call' | 'got'> & {
  /** R82: the headers leave before it is known whether the target is met. */
  is_target_open: boolean
}

/** What is to be said at the end: what the headers could not say yet (R82), or said and was not kept. */
export function endOf<Facts extends Told>(
  { call, got, is_target_open }: Open,
  told: Facts,
  late: LateStream,
): End<Facts> {
  const trailers: Headers = is_target_open ? { [TARGET_MET]: String(targetMet(call.hints, got.ttft_ms)) } : {}
  if (!late.isOutlived()) return { facts: told, trailers, hints_at_end: undefined }
  const facts = withoutQos(told)
  const hints_at_end = facts.qos.hints_honored
  return { facts, trailers: Object.assign(trailers, hints_at_end && honoredHeader(hints_at_end)), hints_at_end }
}

/** The names of all that may come behind the body. */
export const trailersOf = ({ call, is_target_open }: Pick<Open, 'call' | 'is_target_open'>): string =>
  [MONEY_TRAILERS, ...(is_target_open ? [TARGET_MET] : []), ...(call.deadline_at === undefined ? [] : [HONORED])].join(
    ', ',
  )

export const withoutQos = <Facts extends Told>(facts: Facts): Facts => ({
  ...facts,
  qos: { ...facts.qos, hints_honored: facts.qos.hints_honored?.filter((section) => section !== 'qos') },
})
