// Where calls wait for a slot of one target: bounded in number, bytes, share of a key, and time. A call leaves when its
// turn comes, when its client does, when its time is over, or when it has to make place for another (giving-way.ts).

import { type Clock, SECOND_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { StopSignal } from '../core/stop-signal.ts'
import type { QosClass } from '../hints/hints.ts'
import { fairQueue, type LevelOf } from './fair-queue.ts'
import { type Leaving, type RoomBounds, wayFor } from './giving-way.ts'

export interface SlotRequest {
  class: QosClass
  project_id: string
  key_id: string
  input_tokens_est: number
  body_bytes: number
  arrived_at: number
  start_by?: number | undefined
  deadline_at?: number | undefined
  signal: StopSignal
}

export interface Timers {
  /** Runs `work` once, later; the returned function calls it off. */
  after(delay_ms: number, work: () => void): () => void
}

export const systemTimers: Timers = {
  after(delay_ms, work) {
    const timer = setTimeout(work, delay_ms)
    timer.unref() // the calls that wait have sockets, and those keep the process
    return () => clearTimeout(timer)
  },
}

export interface Bounds extends RoomBounds {
  wait_ms: number
}

export const BOUNDS: Bounds = {
  waiters: 100,
  waiters_per_key: 20,
  body_bytes: 32 * 1024 * 1024,
  wait_ms: 60 * SECOND_MS,
}

export interface Waiter<Place> extends Omit<SlotRequest, 'start_by'> {
  readonly start_by: number
  readonly joined_at: number
  readonly expires_at: number
  take(place: Place): void
  refuse(reason: unknown): void
  onAbort(): void
}

export type WaitingRoom<Place> = ReturnType<typeof waitingRoom<Place>>

export function waitingRoom<Place>(clock: Clock, timers: Timers, bounds: Bounds) {
  const queue = fairQueue<Waiter<Place>>()
  const waiters = new Set<Waiter<Place>>() // the longest waiting first
  const by_key = new Map<string, number>()
  let body_bytes = 0
  let alarm: { at: number; callOff(): void } | undefined // never later than the first of them expires

  function join(call: SlotRequest): Promise<Place> {
    expireOverdue()
    const refusal = makeRoom(call)
    if (refusal) return Promise.reject(refusal)
    return new Promise((take, refuse) => {
      const { start_by = Infinity, deadline_at = Infinity, key_id, signal } = call
      const joined_at = clock.now()
      const expires_at = Math.min(deadline_at, joined_at + bounds.wait_ms)
      const onAbort = () => turnAway(waiter, signal.reason)
      const waiter: Waiter<Place> = { ...call, start_by, joined_at, expires_at, take, refuse, onAbort }
      waiters.add(waiter)
      queue.push(waiter)
      by_key.set(key_id, (by_key.get(key_id) ?? 0) + 1)
      body_bytes += call.body_bytes
      signal.addEventListener('abort', onAbort, { once: true })
      if (!alarm || expires_at < alarm.at) setAlarm(expires_at)
    })
  }

  function turnAway(waiter: Waiter<Place>, reason: unknown): void {
    queue.remove(waiter)
    strike(waiter)
    waiter.refuse(reason)
  }

  function strike(waiter: Waiter<Place>): void {
    waiters.delete(waiter)
    const left = (by_key.get(waiter.key_id) ?? 1) - 1
    if (left > 0) by_key.set(waiter.key_id, left)
    else by_key.delete(waiter.key_id)
    body_bytes -= waiter.body_bytes
    waiter.signal.removeEventListener('abort', waiter.onAbort)
    if (waiters.size > 0) return
    alarm?.callOff()
    alarm = undefined
  }

  function setAlarm(at: number): void {
    alarm?.callOff()
    alarm = { at, callOff: timers.after(at - clock.now(), ring) }
  }

  /** By our clock a timer may ring too early; then it is set once more. */
  function ring(): void {
    const now = clock.now()
    for (const waiter of waiters) if (waiter.expires_at <= now) turnAway(waiter, overdue(waiter, now))
    let earliest = Infinity
    for (const { expires_at } of waiters) earliest = Math.min(earliest, expires_at)
    if (waiters.size > 0) setAlarm(earliest)
  }

  /** It may ring too late as well, so nothing is decided before those are gone whose time is over. */
  function expireOverdue(): void {
    if (alarm && alarm.at <= clock.now()) ring()
  }

  /** Of the project that has the least of the target, where that one may have a slot; else nobody may. */
  function next(levelOf: LevelOf, mayTake: (project_id: string) => boolean): Waiter<Place> | undefined {
    expireOverdue()
    const project_id = queue.lowest(levelOf)
    const waiter = project_id !== undefined && mayTake(project_id) ? queue.next(project_id) : undefined
    if (waiter) strike(waiter)
    return waiter
  }

  function makeRoom(call: SlotRequest): Refusal | undefined {
    const of_key = by_key.get(call.key_id) ?? 0
    const has_room = waiters.size < bounds.waiters && body_bytes + call.body_bytes <= bounds.body_bytes
    if (has_room && of_key < bounds.waiters_per_key) return undefined
    const way = wayFor(call, waiters, bounds)
    if (way.kind === 'none') return rejected(FULL[way.full])
    for (const { who, for_whom } of way.leaving) turnAway(who, rejected(GIVES_WAY[for_whom]))
    return undefined
  }

  return {
    join,
    /** Whose turn it is; that one waits no longer. */
    next,
    size: () => waiters.size,
  }
}

const FULL = {
  key: 'This key has as many calls waiting as one key may have',
  room: 'As many calls are waiting as may wait',
}

const GIVES_WAY: Record<Leaving<unknown>['for_whom'], string> = {
  higher_class: 'A call of a higher class took the place of this one',
  other_project: 'Too many calls of this project wait: one of another project took the place of this one',
}

function overdue({ deadline_at = Infinity }: Waiter<unknown>, now: number): Refusal {
  return deadline_at <= now ? expiredBeforeStart() : rejected('No place came free for as long as a call may wait')
}

export function expiredBeforeStart(): Refusal {
  return new Refusal('deadline_exceeded', 'The deadline passed before the call could start. Nothing was charged.', {
    headers: { 'agent-qos-admission': 'expired_before_start', 'x-should-retry': 'false' }, // R45
  })
}

const rejected = (why: string) =>
  new Refusal('rate_limited', `${why}. Retry in a second.`, {
    by: 'capacity',
    headers: { 'retry-after': '1', 'agent-qos-admission': 'rejected' },
  })
