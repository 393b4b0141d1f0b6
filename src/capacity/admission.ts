// How many calls a target takes at once, and what becomes of the rest: `Agent-QoS-Admission` (§10.2). A call gets a
// slot at once, or waits for one in the target's waiting room, or is refused. Who of several projects gets one is
// decided by slot-share.ts (R78). Nothing is charged before a slot.
import { type Clock, SECOND_MS } from '../core/clock.ts'
import { recentUse } from './recent-use.ts'
import {
  claimOf,
  type Holding,
  knownShares,
  level,
  mayTake,
  type Pool,
  reserveOf,
  type Shares,
  usualShares,
} from './slot-share.ts'
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
  /** Several projects may ask for it: it is the operator's. */
  is_shared: boolean
  /** What the operator set for its project (R79), where that is not 1. */
  share?: number | undefined
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
  /** Of those that are not the operator's, all together. */
  ofCustomers(): { slots: number; in_use: number; waiting: number }
}

interface Target {
  readonly id: string
  max_concurrency: number
  in_flight: number
  is_shared: boolean
  /** Slots in use, by project; of those that have any. */
  readonly in_use: Map<string, number>
  /** Only while somebody waits. */
  room: WaitingRoom<Slot> | undefined
  /** Calls off the next look at what others no longer claim; only while somebody waits. */
  callOff: (() => void) | undefined
}

/** What the rule of R78 is built from. */
export interface Sharing {
  shares: Shares
  /** Whether there is more than one project: for nobody, nothing is kept free. */
  hasNeighbours(): boolean
}

const LOOK_AGAIN_MS = 10 * SECOND_MS

const EQUAL: Sharing = { shares: usualShares(), hasNeighbours: () => true }

export function admission(
  clock: Clock,
  timers: Timers = systemTimers,
  bounds: Bounds = BOUNDS,
  sharing: Sharing = EQUAL,
): Admission {
  const targets = new Map<string, Target>()
  const shares = knownShares(sharing.shares)
  const recent = recentUse()

  function targetOf({ target_id: id, max_concurrency, is_shared }: AdmissionRequest): Target {
    let target = targets.get(id)
    if (!target) {
      target = { id, max_concurrency, in_flight: 0, is_shared, in_use: new Map(), room: undefined, callOff: undefined }
      targets.set(id, target)
    }
    // At least one: behind a target that takes none, calls would wait for nothing.
    target.max_concurrency = Math.max(1, max_concurrency)
    return target
  }

  const holdingOf = ({ in_use }: Target, project_id: string): Holding => ({
    in_use: in_use.get(project_id) ?? 0,
    share: shares.of(project_id),
  })

  function mayHave(target: Target, project_id: string): boolean {
    const { max_concurrency: slots, in_flight } = target
    const free = slots - in_flight
    if (!target.is_shared || !sharing.hasNeighbours()) return free > 0
    if (in_flight < slots / 2) return true // in most cases there is nothing to share
    return mayTake(holdingOf(target, project_id), poolOf(target, project_id, free))
  }

  function poolOf(target: Target, asker: string, free: number): Pool {
    const { id, max_concurrency: slots, in_use } = target
    const lately = recent.of(id, clock.now()).filter(({ project_id }) => project_id !== asker)
    const known = new Set([asker, ...in_use.keys(), ...lately.map(({ project_id }) => project_id)])
    const pool = { slots, free, reserve: reserveOf(slots), shares: 0, claimed: 0 }
    for (const project_id of known) pool.shares += shares.of(project_id)
    for (const { project_id, peak } of lately) pool.claimed += claimOf(holdingOf(target, project_id), peak, pool)
    return pool
  }

  function slotOn(target: Target, project_id: string, verdict: Slot['verdict'], queue_ms: number): Slot {
    const { in_use } = target
    let held = true
    target.in_flight++
    const now_in_use = (in_use.get(project_id) ?? 0) + 1
    in_use.set(project_id, now_in_use)
    if (target.is_shared) recent.note(target.id, project_id, now_in_use, clock.now())
    const release = () => {
      if (!held) return
      held = false
      target.in_flight--
      const left = (in_use.get(project_id) ?? 1) - 1
      if (left > 0) in_use.set(project_id, left)
      else in_use.delete(project_id)
      handOut(target)
    }
    return { verdict, queue_ms, release }
  }

  /** Slots that are free go to those who wait; a target with nobody in it and nobody waiting is forgotten. */
  function handOut(target: Target): void {
    const { room } = target
    if (room) {
      const levelOf = (project_id: string) => level(holdingOf(target, project_id))
      const may = (project_id: string) => mayHave(target, project_id)
      for (let waiter = room.next(levelOf, may); waiter; waiter = room.next(levelOf, may))
        waiter.take(slotOn(target, waiter.project_id, 'queued', clock.now() - waiter.joined_at))
      if (room.size() === 0) {
        target.room = undefined
        target.callOff?.()
        target.callOff = undefined
      }
    }
    if (target.in_flight === 0) targets.delete(target.id)
  }

  function admit(request: AdmissionRequest): Slot | Promise<Slot> {
    const { signal, deadline_at } = request
    if (signal.aborted) return Promise.reject(signal.reason)
    if (deadline_at !== undefined && deadline_at <= clock.now()) return Promise.reject(expiredBeforeStart())
    shares.note(request.project_id, request.share)
    const target = targetOf(request)
    if (target.room) handOut(target) // its limit may have been raised, or everybody may have left the room
    if (mayHave(target, request.project_id)) return slotOn(target, request.project_id, 'admitted', 0)
    target.room ??= waitingRoom(clock, timers, bounds)
    if (target.is_shared && !target.callOff) lookAgain(target)
    return target.room.join(request)
  }

  /** What is kept for others lapses with time (R78), and no call that ends tells of that. */
  function lookAgain(target: Target): void {
    target.callOff = timers.after(LOOK_AGAIN_MS, () => {
      target.callOff = undefined
      handOut(target)
      if (target.room) lookAgain(target)
    })
  }

  return {
    admit,
    inFlight: (target_id) => targets.get(target_id)?.in_flight ?? 0,
    waiting: (target_id) => targets.get(target_id)?.room?.size() ?? 0,
    targets: () => targets.size,
    ofCustomers() {
      const sums = { slots: 0, in_use: 0, waiting: 0 }
      for (const { is_shared, max_concurrency, in_flight, room } of targets.values()) {
        if (is_shared) continue
        sums.slots += max_concurrency
        sums.in_use += in_flight
        sums.waiting += room?.size() ?? 0
      }
      return sums
    },
  }
}
