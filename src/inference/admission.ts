// How many calls a target takes at once, and what becomes of the rest: `Agent-QoS-Admission` (§10.2). A call gets a
// slot at once, or waits for one in the target's waiting room, or is refused. Nothing is charged before a slot.
import type { Clock } from '../core/clock.ts'
import {
  BOUNDS,
  type Bounds,
  expiredBeforeStart,
  type SlotRequest,
  systemTimers,
  type Timers,
  type WaitingRoom,
  waitingRoom,
} from './waiting-room.ts'

export interface AdmissionRequest extends SlotRequest {
  target_id: string
  max_concurrency: number
}

/** Whoever has one gives it back, however the call ends and whatever its signal says by then. */
export interface Slot {
  verdict: 'admitted' | 'queued'
  queue_ms: number
  /** Only the first call counts. */
  release(): void
}

export interface Admission {
  /** Rejects with a Refusal, or with the signal's reason. A free slot costs no promise. */
  admit(request: AdmissionRequest): Slot | Promise<Slot>
  inFlight(target_id: string): number
  waiting(target_id: string): number
  /** How many targets are known: those with calls, and no others. */
  targets(): number
}

interface Target {
  readonly id: string
  max_concurrency: number
  in_flight: number
  /** Only while somebody waits. */
  room: WaitingRoom<Slot> | undefined
}

export function admission(clock: Clock, timers: Timers = systemTimers, bounds: Bounds = BOUNDS): Admission {
  const targets = new Map<string, Target>()

  function targetOf({ target_id: id, max_concurrency }: AdmissionRequest): Target {
    let target = targets.get(id)
    if (!target) {
      target = { id, max_concurrency, in_flight: 0, room: undefined }
      targets.set(id, target)
    }
    // At least one: behind a target that takes none, calls would wait for nothing.
    target.max_concurrency = Math.max(1, max_concurrency)
    return target
  }

  function slotOn(target: Target, verdict: Slot['verdict'], queue_ms: number): Slot {
    let held = true
    target.in_flight++
    const release = () => {
      if (!held) return
      held = false
      target.in_flight--
      handOut(target)
    }
    return { verdict, queue_ms, release }
  }

  /** Slots that are free go to those who wait; a target with nobody in it and nobody waiting is forgotten. */
  function handOut(target: Target): void {
    while (target.room && target.in_flight < target.max_concurrency) {
      const waiter = target.room.next()
      if (waiter) waiter.take(slotOn(target, 'queued', clock.now() - waiter.joined_at))
      if (target.room.size() === 0) target.room = undefined
    }
    if (target.in_flight === 0) targets.delete(target.id)
  }

  function admit(request: AdmissionRequest): Slot | Promise<Slot> {
    const { signal, deadline_at } = request
    if (signal.aborted) return Promise.reject(signal.reason)
    if (deadline_at !== undefined && deadline_at <= clock.now()) return Promise.reject(expiredBeforeStart())
    const target = targetOf(request)
    if (target.room) handOut(target) // its limit may have been raised, or everybody may have left the room
    if (target.in_flight < target.max_concurrency) return slotOn(target, 'admitted', 0)
    target.room ??= waitingRoom(clock, timers, bounds)
    return target.room.join(request)
  }

  return {
    admit,
    inFlight: (target_id) => targets.get(target_id)?.in_flight ?? 0,
    waiting: (target_id) => targets.get(target_id)?.room?.size() ?? 0,
    targets: () => targets.size,
  }
}
