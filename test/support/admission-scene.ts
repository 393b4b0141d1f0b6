// Calls that come, wait, leave and are given up around an admission, with clock and timers in the test's hand; and what
// must be true of them after every single step.
import { getEventListeners } from 'node:events'
import { type Admission, type AdmissionRequest, admission, type Slot } from '../../src/capacity/admission.ts'
import { BOUNDS, type Bounds, type Timers } from '../../src/capacity/waiting-room.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { type HeldClock, heldClock } from './clock.ts'

/** Timers that run when the test moves the clock past them, in the order in which they are due. */
export function heldTimers(clock: HeldClock) {
  const set = new Set<{ at: number; work: () => void }>()
  const due = (until: number) =>
    [...set].filter(({ at }) => at <= until).reduce((a, b) => (b.at < a.at ? b : a), { at: Infinity, work: () => {} })
  return {
    after(delay_ms: number, work: () => void) {
      const timer = { at: clock.now() + delay_ms, work }
      set.add(timer)
      return () => void set.delete(timer)
    },
    advance(ms: number) {
      const until = clock.now() + ms
      for (let timer = due(until); timer.at !== Infinity; timer = due(until)) {
        clock.advance(Math.max(0, timer.at - clock.now()))
        set.delete(timer)
        timer.work()
      }
      clock.advance(until - clock.now())
    },
    pending: () => set.size,
  }
}

export interface Ticket {
  request: AdmissionRequest
  state: 'waiting' | 'holding' | 'released' | 'refused'
  slot?: Slot
  reason?: unknown
  refused_on_arrival?: true
  joined_at: number
  /** The room had a bound to refuse it for when it came. */
  crowded: boolean
  abort: AbortController
}

export type Build = (clock: HeldClock, timers: Timers, bounds: Bounds) => Admission
export type Scene = ReturnType<typeof admissionScene>

export interface SceneOptions {
  build?: Build
  bounds?: Bounds
  max_concurrency?: number
  /** R78: several projects may ask for the target. */
  is_shared?: boolean
}

export function admissionScene(options: SceneOptions = {}) {
  const { build = admission, bounds = BOUNDS, max_concurrency = 1, is_shared = false } = options
  const clock = heldClock()
  const timers = heldTimers(clock)
  const gate = build(clock, timers, bounds)
  const tickets: Ticket[] = []
  /** The tickets that got a slot, in that order. */
  const started: Ticket[] = []

  function begin(ticket: Ticket, slot: Slot): void {
    Object.assign(ticket, { state: 'holding', slot })
    started.push(ticket)
  }

  async function come(asked: Partial<AdmissionRequest> = {}): Promise<Ticket> {
    const abort = new AbortController()
    const request: AdmissionRequest = {
      target_id: 'target',
      max_concurrency,
      is_shared,
      class: 'standard',
      project_id: 'prj_1',
      key_id: 'key_1',
      input_tokens_est: 1_000,
      body_bytes: 100,
      arrived_at: clock.now(),
      signal: abort.signal,
      ...asked,
    }
    const crowded = overBound([...of('waiting').map((one) => one.request), request], bounds, request.key_id)
    const ticket: Ticket = { request, state: 'waiting', joined_at: clock.now(), crowded, abort }
    tickets.push(ticket)
    const given = gate.admit(request)
    if (!(given instanceof Promise)) begin(ticket, given)
    else
      given.then(
        (slot) => begin(ticket, slot),
        (reason) => Object.assign(ticket, { state: 'refused', reason }),
      )
    await settled()
    if (ticket.state === 'refused') ticket.refused_on_arrival = true
    return ticket
  }

  async function release(ticket: Ticket | undefined): Promise<void> {
    ticket?.slot?.release()
    if (ticket?.state === 'holding') ticket.state = 'released'
    await settled()
  }

  async function giveUp(ticket: Ticket | undefined): Promise<void> {
    ticket?.abort.abort(new Error('the client left'))
    await settled()
  }

  async function pass(ms: number): Promise<void> {
    timers.advance(ms)
    await settled()
  }

  const of = (state: Ticket['state']) => tickets.filter((ticket) => ticket.state === state)
  return { clock, timers, gate, bounds, max_concurrency, is_shared, tickets, started, of, come, release, giveUp, pass }
}

/** Lets every promise that can settle do so. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await null
}

/** One while somebody waits; of a target that is shared, one more looks again at what others claim. */
function hasStrayTimers({ timers, is_shared, of }: Scene): boolean {
  const needed = Number(of('waiting').length > 0)
  return timers.pending() < needed || timers.pending() > needed + Number(is_shared)
}

/** Those of whom it is known that nobody listens any more. */
const quiet = new WeakSet<Ticket>()

/** What is wrong at this moment, of what matters; nothing, if all promises of an admission hold. */
export function faults(scene: Scene, matters: (fault: string) => boolean = () => true): string[] {
  const { clock, gate, bounds, max_concurrency, tickets, of } = scene
  const [waiting, holding] = [of('waiting'), of('holding')]
  const asked = waiting.map(({ request }) => request)
  const over = (only: keyof Bounds) =>
    asked.some(({ key_id }) => overBound(asked, { ...ENDLESS, [only]: bounds[only] }, key_id))
  const listening = ({ request }: Ticket) => getEventListeners(request.signal as AbortSignal, 'abort').length
  // To look at all that ever came is what takes long. Nobody begins to listen for one that has been served.
  const listens = (one: Ticket) => {
    if (quiet.has(one)) return false
    const is_waiting = one.state === 'waiting'
    if (listening(one) !== Number(is_waiting)) return true
    if (!is_waiting) quiet.add(one)
    return false
  }
  const claims: Record<string, () => boolean> = {
    'more slots out than the target takes': () => holding.length > max_concurrency,
    'slots counted are not slots held': () => gate.inFlight('target') !== holding.length,
    'waiters counted are not those waiting': () => gate.waiting('target') !== waiting.length,
    'more waiters than the bound': () => over('waiters'),
    'more bytes than the bound': () => over('body_bytes'),
    'more waiters of a key than the bound': () => over('waiters_per_key'),
    'a slot is free while somebody waits': () => waiting.some((ticket) => couldHave(scene, ticket.request.project_id)),
    'somebody waits whose time is over': () => waiting.some((ticket) => expiry(ticket, bounds) <= clock.now()),
    'somebody waits who left': () => waiting.some(({ abort }) => abort.signal.aborted),
    'a listener too many or too few': () => tickets.some(listens),
    'a timer too many or too few': () => hasStrayTimers(scene),
    'refused for no reason': () => of('refused').some((ticket) => !isGoodReason(ticket)),
    'refused though there was room': () => of('refused').some(isRefusedForNothing),
    'a target kept that nobody uses': () => gate.targets() !== Number(holding.length > 0),
  }
  return Object.keys(claims).filter((claim) => matters(claim) && claims[claim]?.())
}

/** R78, told in other words than the rule itself: free beyond one in ten, or for a project that has none. */
function couldHave({ max_concurrency, is_shared, of }: Scene, project_id: string): boolean {
  const holding = of('holding')
  const free = max_concurrency - holding.length
  const has_none = holding.every(({ request }) => request.project_id !== project_id)
  const kept = is_shared && max_concurrency > 1 ? Math.max(1, Math.floor(max_concurrency * 0.1)) : 0
  return free > (has_none ? 0 : kept)
}

const ENDLESS: Bounds = { waiters: Infinity, waiters_per_key: Infinity, body_bytes: Infinity, wait_ms: Infinity }

function overBound(requests: readonly AdmissionRequest[], bounds: Bounds, key_id: string): boolean {
  const of_key = requests.filter((request) => request.key_id === key_id).length
  const bytes = requests.reduce((sum, { body_bytes }) => sum + body_bytes, 0)
  return requests.length > bounds.waiters || of_key > bounds.waiters_per_key || bytes > bounds.body_bytes
}

const isRefusedForNothing = ({ reason, refused_on_arrival, crowded }: Ticket) =>
  reason instanceof Refusal && reason.kind === 'rate_limited' && refused_on_arrival === true && !crowded

const expiry = ({ request, joined_at }: Ticket, { wait_ms }: Bounds) =>
  Math.min(request.deadline_at ?? Infinity, joined_at + wait_ms)

function isGoodReason({ reason, abort, request }: Ticket): boolean {
  if (!(reason instanceof Refusal)) return abort.signal.aborted && reason === abort.signal.reason
  const admission = reason.headers['agent-qos-admission']
  if (reason.kind === 'deadline_exceeded')
    return admission === 'expired_before_start' && request.deadline_at !== undefined
  return reason.kind === 'rate_limited' && admission === 'rejected' && reason.headers['retry-after'] === '1'
}
