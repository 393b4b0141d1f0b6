// §10.2 Agent-QoS-Admission: the four outcomes, the bounds, and the fast path.
import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { admissionScene, faults, type Scene, type Ticket } from '../../test/support/admission-scene.ts'
import { NOON } from '../../test/support/clock.ts'
import { SECOND_MS } from '../core/clock.ts'
import type { Refusal } from '../core/refusal.ts'
import { BOUNDS } from './waiting-room.ts'

const refusalOf = ({ reason }: Ticket) => {
  const { kind, status, headers, by } = reason as Refusal
  return { kind, status, headers, ...(by && { by }) }
}
const REJECTED = {
  kind: 'rate_limited',
  status: 429,
  headers: { 'retry-after': '1', 'agent-qos-admission': 'rejected' },
  by: 'capacity',
}
const EXPIRED = {
  kind: 'deadline_exceeded',
  status: 504,
  headers: { 'agent-qos-admission': 'expired_before_start', 'x-should-retry': 'false' },
}

/** Waiters of many keys and projects, so that only the bound under test is met. */
const fill = async (scene: Scene, count: number, rest: Partial<Ticket['request']> = {}) => {
  const filled: Ticket[] = []
  for (let n = 0; n < count; n++) filled.push(await scene.come({ key_id: `key_${scene.tickets.length}`, ...rest }))
  return filled
}

test('§10.2 admitted: a free slot is handed over at once, without a promise, a timer or a listener', () => {
  const { gate, timers, clock } = admissionScene()
  const { signal } = new AbortController()
  const slot = gate.admit({
    target_id: 'target',
    max_concurrency: 1,
    is_shared: true,
    class: 'interactive',
    project_id: 'prj_1',
    key_id: 'key_1',
    input_tokens_est: 10,
    body_bytes: 10,
    arrived_at: clock.now(),
    deadline_at: clock.now() + SECOND_MS,
    signal,
  })
  expect(slot).toMatchObject({ verdict: 'admitted', queue_ms: 0 })
  expect([timers.pending(), getEventListeners(signal, 'abort').length, gate.inFlight('target')]).toEqual([0, 0, 1])
})

test('§10.2 queued: who waited says for how long', async () => {
  const scene = admissionScene()
  const first = await scene.come()
  const second = await scene.come()
  expect([second.state, scene.gate.waiting('target')]).toEqual(['waiting', 1])
  await scene.pass(1_234)
  await scene.release(first)
  expect(second.slot).toMatchObject({ verdict: 'queued', queue_ms: 1_234 })
  expect(faults(scene)).toEqual([])
})

test('§10.2 a slot given back twice frees one', async () => {
  const scene = admissionScene({ max_concurrency: 2 })
  const [first] = [await scene.come(), await scene.come()]
  const [third, fourth] = [await scene.come(), await scene.come()]
  await scene.release(first)
  await scene.release(first)
  expect([third.state, fourth.state]).toEqual(['holding', 'waiting'])
  expect(faults(scene)).toEqual([])
})

test('§10.2 targets do not share slots, and are forgotten when they are idle', async () => {
  const scene = admissionScene()
  const tickets = await Promise.all(['a', 'b', 'c'].map((target_id) => scene.come({ target_id })))
  expect(scene.gate.targets()).toBe(3)
  for (const ticket of tickets) await scene.release(ticket)
  expect(scene.gate.targets()).toBe(0)
})

test('§10.2 a raised limit lets those in who wait, before those who come', async () => {
  const scene = admissionScene()
  await scene.come()
  const waiting = await scene.come()
  const coming = await scene.come({ max_concurrency: 2 })
  expect([waiting.state, coming.state]).toEqual(['holding', 'waiting'])
  expect((await scene.come({ max_concurrency: 3 })).state).toBe('waiting')
  expect(coming.state).toBe('holding')
})

test('§10.2 a target that says it takes none takes one at a time', async () => {
  const scene = admissionScene({ max_concurrency: 0 })
  const [first, second] = [await scene.come(), await scene.come()]
  expect([first.state, second.state]).toEqual(['holding', 'waiting'])
  for (const ticket of scene.started) await scene.release(ticket)
  expect(scene.gate.targets()).toBe(0)
})

test('§10.2 rejected: the hundred-and-first waiter', async () => {
  const scene = admissionScene()
  await scene.come()
  const waiters = await fill(scene, BOUNDS.waiters)
  const [late] = await fill(scene, 1)
  expect(waiters.every(({ state }) => state === 'waiting')).toBe(true)
  expect(refusalOf(late as Ticket)).toEqual(REJECTED)
  expect(faults(scene)).toEqual([])
})

test('§10.2 rejected: more than 32 MiB of bodies', async () => {
  const scene = admissionScene()
  await scene.come()
  const [most] = await fill(scene, 1, { body_bytes: BOUNDS.body_bytes - 1 })
  const [last, over] = await fill(scene, 2, { body_bytes: 1 })
  expect([most?.state, last?.state]).toEqual(['waiting', 'waiting'])
  expect(refusalOf(over as Ticket)).toEqual(REJECTED)
})

test('§10.2 rejected: the twenty-first waiter of one key, while another key still gets in', async () => {
  const scene = admissionScene()
  await scene.come()
  await fill(scene, BOUNDS.waiters_per_key, { key_id: 'key_busy' })
  const [own] = await fill(scene, 1, { key_id: 'key_busy' })
  const [other] = await fill(scene, 1, { key_id: 'key_other' })
  expect(refusalOf(own as Ticket)).toEqual(REJECTED)
  expect(other?.state).toBe('waiting')
})

test('§10.2 rejected: no place within 60 s, though no deadline was set', async () => {
  const scene = admissionScene()
  await scene.come()
  const [waiting, patient] = [await scene.come(), await scene.come({ deadline_at: NOON + 90 * SECOND_MS })]
  await scene.pass(BOUNDS.wait_ms - 1)
  expect(waiting.state).toBe('waiting')
  await scene.pass(1)
  expect(refusalOf(waiting)).toEqual(REJECTED)
  expect(refusalOf(patient)).toEqual(REJECTED)
  expect(faults(scene)).toEqual([])
})

test('R46 rejected: in a full room the newest background call gives its place to one of a higher class', async () => {
  const scene = admissionScene()
  await scene.come()
  const background = await fill(scene, 10, { class: 'background' })
  await fill(scene, BOUNDS.waiters - 10)
  const [interactive] = await fill(scene, 1, { class: 'interactive' })
  expect(interactive?.state).toBe('waiting')
  expect(refusalOf(background.at(-1) as Ticket)).toEqual(REJECTED)
  expect(scene.of('waiting')).toHaveLength(BOUNDS.waiters)
  const [late] = await fill(scene, 1, { class: 'background' })
  expect(refusalOf(late as Ticket)).toEqual(REJECTED)
  expect(faults(scene)).toEqual([])
})

test('R46 a thirteenth of the places is not taken away from the background', async () => {
  const scene = admissionScene()
  await scene.come()
  const background = await fill(scene, 30, { class: 'background' })
  await fill(scene, 200, { class: 'interactive' })
  expect(background.filter(({ state }) => state === 'waiting')).toEqual(background.slice(0, 8))
})

test('R46 a key whose background fills its share still gets an interactive call in', async () => {
  const scene = admissionScene()
  await scene.come()
  await fill(scene, 10, { class: 'background', key_id: 'key_other' })
  const own = await fill(scene, BOUNDS.waiters_per_key, { class: 'background', key_id: 'key_busy' })
  const [interactive] = await fill(scene, 1, { class: 'interactive', key_id: 'key_busy' })
  expect([interactive?.state, own.at(-1)?.state]).toEqual(['waiting', 'refused'])
  expect(scene.of('refused')).toHaveLength(1)
})

test('§10.2 nobody is sent away for a call that does not fit all the same', async () => {
  const scene = admissionScene()
  await scene.come()
  await fill(scene, 90, { class: 'background' })
  const [huge] = await fill(scene, 1, { class: 'interactive', body_bytes: BOUNDS.body_bytes + 1 })
  expect(refusalOf(huge as Ticket)).toEqual(REJECTED)
  expect(scene.of('waiting')).toHaveLength(90)
})

test('§10.2 expired_before_start: the deadline passed in the queue', async () => {
  const scene = admissionScene()
  const first = await scene.come()
  const waiting = await scene.come({ deadline_at: NOON + 500 })
  await scene.pass(500)
  expect(refusalOf(waiting)).toEqual(EXPIRED)
  await scene.release(first)
  expect(scene.gate.inFlight('target')).toBe(0)
})

test('§10.2 expired_before_start: the deadline passed before the call came, though a slot is free', async () => {
  const scene = admissionScene()
  expect(refusalOf(await scene.come({ deadline_at: NOON }))).toEqual(EXPIRED)
  expect(scene.gate.targets()).toBe(0)
})

// Guards against a busy process, where timers are late: a slot must not go to somebody whose time is over.
test('§10.2 expired_before_start: also where the slot comes before the timer', async () => {
  const scene = admissionScene()
  const first = await scene.come()
  const [late, next] = [await scene.come({ deadline_at: NOON + 500 }), await scene.come()]
  scene.clock.advance(600)
  await scene.release(first)
  expect(refusalOf(late)).toEqual(EXPIRED)
  expect(next.slot?.queue_ms).toBe(600)
  expect(faults(scene)).toEqual([])
})

test('§10.2 whose time is over takes no place from those who come, however late the timer is', async () => {
  const scene = admissionScene()
  await scene.come()
  await fill(scene, BOUNDS.waiters, { deadline_at: NOON + 500 })
  scene.clock.advance(600)
  const [fresh] = await fill(scene, 1)
  expect(fresh?.state).toBe('waiting')
  expect(scene.of('waiting')).toHaveLength(1)
})

test('§10.2 a timer that rings too early is set once more', async () => {
  const scene = admissionScene()
  await scene.come()
  const waiting = await scene.come({ deadline_at: NOON + 500 })
  scene.clock.advance(-1)
  scene.timers.advance(500)
  expect([waiting.state, scene.timers.pending()]).toEqual(['waiting', 1])
  await scene.pass(1)
  expect(refusalOf(waiting)).toEqual(EXPIRED)
})

test('§10.2 a client that leaves is rejected with its own reason and takes nobody else’s turn', async () => {
  const scene = admissionScene()
  const first = await scene.come()
  const [leaver, stayer] = [await scene.come(), await scene.come()]
  await scene.giveUp(leaver)
  expect(leaver.reason).toBe(leaver.abort.signal.reason)
  await scene.release(first)
  expect(stayer.state).toBe('holding')
  expect(faults(scene)).toEqual([])
})

test('§10.2 a client that left before it came gets no slot', async () => {
  const scene = admissionScene()
  const abort = new AbortController()
  abort.abort(new Error('gone'))
  const ticket = await scene.come({ signal: abort.signal })
  expect([ticket.reason, scene.gate.targets()]).toEqual([abort.signal.reason, 0])
})
