// §11.5, T-20: a client that leaves at any moment of its request, and then asks again with the same key, gets exactly
// one effect, and is never locked out by what it left behind.
import { connect } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { asks, count, inLanes, stored } from './asks.ts'
import { check, type Operation } from './checker.ts'
import type { Plant } from './plants.ts'
import { type Chance, chance } from './randomness.ts'
import type { Ask, Client } from './recording-client.ts'
import { type Report, report, verdictChecks } from './report.ts'
import { type Engine, openScene, type Scene } from './scene.ts'

export interface Disconnect {
  requests: number
  in_flight?: number
  engine: Engine
  plant?: Plant | undefined
  seed: number
}

const PADDING_MAX = 32 * 1024 // bodies of several segments, so that many cuts fall inside one
/** Few at once: then most of the time an answer takes is spent executing, not in line, and many cuts fall into that. */
export const IN_FLIGHT = 4
const SPAN_MAX_MS = 100
const RETRY_MS = 5
const GIVE_UP_MS = 3_000

type Cut = 'in the head' | 'in the body' | 'before the answer' | 'in or after the answer'

export async function disconnect({
  requests,
  in_flight = IN_FLIGHT,
  engine,
  plant,
  seed,
}: Disconnect): Promise<Report> {
  const scene = await openScene({ engine, plant })
  return report(scene, { command: 'disconnect', engine, plant, seed }, async () => {
    await scene.start()
    const random = chance(seed)
    const operations: Operation[] = []
    const cuts: Record<Cut, number> = {
      'in the head': 0,
      'in the body': 0,
      'before the answer': 0,
      'in or after the answer': 0,
    }
    const pace = pacing()
    let unseen = 0

    const asked = Array.from({ length: requests }, asks(random, PADDING_MAX))
    await inLanes(in_flight, asked, async (ask) => {
      const { cut, ...operation } = await leave(scene, ask, random, pace.span_ms())
      cuts[cut]++
      pace.note(cut)
      const tries = await untilAnswered(scene.client, ask)
      operations.push(operation, ...tries)
      if (cut === 'before the answer' && tries.at(-1)?.replayed) unseen++
    })
    const retried = [...operations]
    await inLanes(in_flight, asked, async (ask) => void operations.push(await scene.client.post(ask)))
    const effects = await stored(scene.client)
    return {
      figures: {
        'requests cut off': requests,
        ...Object.fromEntries(Object.entries(cuts).map(([where, n]) => [`  ${where}`, n])),
        'retries that found it done': count(retried, (one) => one.replayed === true),
        '  left before any answer': unseen,
        'retries that did it': count(retried, (one) => one.replayed === false),
        'retries told to wait (409)': count(retried, (one) => one.status === 409),
        'replays asked for afterwards': asked.length,
        'effects in the store': effects.length,
      },
      checks: verdictChecks(check({ operations, stored: effects })),
    }
  })
}

async function untilAnswered(client: Client, ask: Ask): Promise<Operation[]> {
  const deadline_ms = performance.now() + GIVE_UP_MS
  const tries: Operation[] = []
  while (performance.now() < deadline_ms) {
    const retry = await client.post(ask)
    tries.push(retry)
    if (retry.outcome === 'ok') break
    await sleep(RETRY_MS)
  }
  return tries
}

/** Half of the clients leave while they send, at any byte; half while they wait, at any moment of that. */
async function leave(scene: Scene, ask: Ask, random: Chance, span_ms: number): Promise<Operation & { cut: Cut }> {
  const head = Buffer.from(
    `POST ${ask.path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${scene.token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(ask.body)}\r\n` +
      `agent-idempotency-key: ${ask.key}\r\n\r\n`,
  )
  const whole = Buffer.concat([head, Buffer.from(ask.body)])
  const sent = random.oneIn(2) ? random.below(whole.length) : whole.length
  const { path, key, name } = ask
  const invoked_ms = performance.now()

  const socket = connect(scene.port, '127.0.0.1').on('error', () => {})
  socket.setNoDelay(true)
  await new Promise((written) => socket.write(whole.subarray(0, sent), written))
  await pause(random.between(0, span_ms))
  const read = socket.bytesRead
  if (random.oneIn(2)) socket.resetAndDestroy()
  else socket.destroy()

  const cut =
    sent < head.length
      ? 'in the head'
      : sent < whole.length
        ? 'in the body'
        : read === 0
          ? 'before the answer'
          : 'in or after the answer'
  return { path, key, name, invoked_ms, settled_ms: performance.now(), outcome: 'unknown', cut }
}

/** Finer than a timer, which knows whole milliseconds only and is late by one. */
async function pause(wait_ms: number): Promise<void> {
  const end_ms = performance.now() + wait_ms
  if (wait_ms > 3) await sleep(wait_ms - 2)
  while (performance.now() < end_ms) await turn()
}

/**
 * The moments to leave at are spread evenly over the time an answer takes, and some way beyond. That time is not known
 * beforehand and changes with the load: the span grows and shrinks until one in four gets to see its answer.
 */
function pacing() {
  let span_ms = 10
  return {
    span_ms: () => span_ms,
    note(cut: Cut) {
      if (cut === 'before the answer') span_ms = Math.min(SPAN_MAX_MS, span_ms * 1.01)
      if (cut === 'in or after the answer') span_ms *= 0.97
    },
  }
}
