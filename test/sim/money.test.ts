// R41 to R43, R71 under random faults: clients that leave, upstreams that break at any point, deadlines, retries, limits
// that run out, a store that fails while settling. Whatever happens: nothing stays held, what is spent is the sum of the
// usage events, each of them is what its client was told, no limit is passed, no key is paid for twice, and deadlines
// make no more free of charge than they may.
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unavailable } from '../../src/storage/db.ts'
import { ENGINE } from '../support/databases.ts'
import { comesTrue } from '../support/inference-cases.ts'
import { type Heard, hintsHeader, moneyIn } from '../support/inference-client.ts'
import { type Ledger, type Scene, type Stage, setKeyLimit, startScene, withScene } from '../support/inference-scene.ts'
import { sized } from '../support/sizes.ts'
import { mutateSql, textOf } from '../support/tampered-db.ts'
import type { Behaviour, Recorded } from '../support/upstream.ts'

const seed = Number(process.env.SIM_SEED ?? randomInt(2 ** 31 - 1))
const runs = Number(process.env.SIM_RUNS ?? sized(ENGINE === 'sqlite' ? 12 : 6, 5))
const KEYS = ['a', 'b', 'c'] // few, so that they meet
const WAIVER = 60 // R71: one stream that a deadline cuts short, and no second
const config = { deadlines: { waiver_micros: WAIVER, waiver_pct: 0 } }

const FAULTS = ['none', 'none', 'none', 'reset', '500', '429', '400', 'cut', 'error', 'hang', 'slow', 'slow'] as const
type Fault = (typeof FAULTS)[number]

interface Ask {
  stream: boolean
  keyed: string | undefined
  /** At the first upstream, and at the second. */
  faults: readonly [Fault, Fault]
  client: 'stays' | 'leaves at once' | 'leaves in the middle'
  deadline_ms: number | undefined
  max_tokens: number | undefined
  output: number
}

const asks: fc.Arbitrary<Ask> = fc.record({
  stream: fc.boolean(),
  keyed: fc.option(fc.constantFrom(...KEYS), { nil: undefined, freq: 1 }),
  faults: fc.tuple(fc.constantFrom(...FAULTS), fc.constantFrom(...FAULTS)),
  client: fc.constantFrom('stays', 'stays', 'stays', 'leaves at once', 'leaves in the middle'),
  deadline_ms: fc.option(fc.constantFrom(30, 80, 10_000), { nil: undefined }),
  max_tokens: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
  output: fc.nat(200), // an upstream may say more than it was allowed
})

const histories = fc.record({
  /** So many at a time. */
  waves: fc.array(fc.array(asks, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 5 }),
  limit: fc.constantFrom(300, 500, 1_000, 100_000), // a call holds some two hundred
  /** Every so many-th charge meets a store that is away. */
  outage: fc.constantFrom(0, 3, 7),
})
type History = typeof histories extends fc.Arbitrary<infer One> ? One : never

/** An upstream that reads in the request itself what is to go wrong with it. */
const faulty = (which: 0 | 1): Behaviour => ({
  respond(request, response) {
    const fault: Fault = request.body.x_faults[which]
    if (fault === 'hang') return
    if (fault === 'reset') return void response.socket?.resetAndDestroy()
    if (/^\d/.test(fault)) {
      response.writeHead(Number(fault), { 'content-type': 'application/json' })
      return void response.end('{"error":{"message":"no","type":"invalid_request_error"}}')
    }
    return request.body.stream ? streamed(request, response, fault) : whole(request, response, fault)
  },
})

type Response = Parameters<NonNullable<Behaviour['respond']>>[1]

function whole({ body }: Recorded, response: Response, fault: Fault): void {
  const usage = { prompt_tokens: 20, completion_tokens: body.x_output }
  const text = JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: 'hello' } }], usage })
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length })
  if (fault === 'none') return void response.end(text)
  response.write(text.slice(0, 20), () => response.socket?.resetAndDestroy())
}

async function streamed({ body }: Recorded, response: Response, fault: Fault): Promise<void> {
  const say = (value: unknown) =>
    new Promise((done) =>
      response.write(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`, done),
    )
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const content of ['hel', 'lo ', 'there']) await say({ choices: [{ index: 0, delta: { content } }] })
  if (fault === 'cut') return void response.socket?.resetAndDestroy()
  if (fault === 'error') return void response.end(`data: {"error":{"message":"no","type":"server_error"}}\n\n`)
  if (fault === 'slow') await sleep(150) // so that deadlines pass in mid-stream
  await say({ choices: [], usage: { prompt_tokens: 20, completion_tokens: body.x_output } })
  await say('[DONE]')
  response.end()
}

interface Outcome {
  ask: Ask
  /** Undefined where the client had left before it heard anything. */
  heard: Heard | undefined
}

async function make(stage: Stage, ask: Ask): Promise<Outcome> {
  const { stream, keyed, faults, client, deadline_ms, max_tokens, output } = ask
  const hangs = faults.includes('hang')
  // Nobody waits for ever: what may hang has a deadline.
  const deadline = deadline_ms ?? (hangs ? 60 : undefined)
  const call = stage.openChat(
    { model: stage.both, stream, x_faults: faults, x_output: output, ...(max_tokens && { max_tokens }) },
    {
      ...(keyed && { keyed }),
      headers:
        deadline === undefined ? {} : hintsHeader({ qos: { deadline_ms: Math.min(deadline, hangs ? 60 : deadline) } }),
    },
  )
  if (client === 'leaves at once') call.leave()
  if (client === 'leaves in the middle')
    await call.head.then(
      () => call.leave(),
      () => {},
    )
  return { ask, heard: await call.heard.catch(() => undefined) }
}

/** Runs a history; what was heard, and the books once nothing is under way any more. */
async function play(scene: Scene, { waves, limit, outage }: History) {
  const stage = await scene.stage()
  stage.one.behave(faulty(0))
  stage.two.behave(faulty(1))
  await setKeyLimit(scene.db, stage.key_id, limit)
  const planted = scene.tampering.rows
  let charges = 0
  scene.tampering.rows = (statement, run) => {
    const isCharge = textOf(statement).startsWith('INSERT INTO usage_event')
    if (outage > 0 && isCharge && ++charges % outage === 0) return Promise.reject(unavailable(new Error('away')))
    return planted ? planted(statement, run) : run(statement)
  }
  const outcomes: Outcome[] = []
  for (const wave of waves) outcomes.push(...(await Promise.all(wave.map((ask) => make(stage, ask)))))
  scene.tampering.rows = planted
  await comesTrue(async () => (await scene.metrics.inFlight.get()).values[0]?.value === 0)
  await stage.until(({ holds }) => holds.length === 0)
  for (const key of KEYS) await comesTrue(async () => (await stage.keyState(key)) !== 'held')
  return { outcomes, limit, outage, ledger: await stage.audit() }
}

/** What is wrong with what was heard, beside the books. */
function findings({ outcomes, limit, outage, ledger }: Awaited<ReturnType<typeof play>>): string[] {
  const found: string[] = []
  if (ledger.spent > limit) found.push(`${ledger.spent} spent of ${limit}`)
  const waived = ledger.events.reduce((sum, { waived_micros }) => sum + waived_micros, 0)
  if (waived > WAIVER) found.push(`${waived} waived of ${WAIVER}`)
  if (ledger.events.some((event) => event.waived_micros > 0 && event.charged_micros > 0))
    found.push('charged and waived at once')
  const charges = new Map(ledger.events.map(({ trace_id, charged_micros }) => [trace_id, charged_micros]))
  const told = new Map<string, number>()
  for (const { ask, heard } of outcomes) {
    if (!heard) continue
    if (heard.status >= 500 && !/^50[234]$/.test(String(heard.status))) found.push(`answered ${heard.status}`)
    const trace = heard.headers['agent-trace-id'] ?? ''
    const micros = moneyIn(heard)
    if (micros === undefined) {
      // Only a client that left, or a store that was away, leaves a charge untold.
      if (charges.get(trace) && heard.complete && outage === 0) found.push(`${trace} was charged untold`)
      continue
    }
    if (charges.get(trace) !== micros) found.push(`${trace} was told ${micros}, charged ${charges.get(trace)}`)
    if (heard.status !== 200) found.push(`${trace} was told a charge with ${heard.status}`)
    told.set(trace, micros)
    if (ask.client === 'leaves at once') found.push('somebody heard an answer who had left')
  }
  return [...found, ...ofKeys(outcomes), ...(outage === 0 ? ofSums(ledger, told, outcomes) : [])]
}

/** R26: under one key, whoever hears an answer hears the same one. */
function ofKeys(outcomes: readonly Outcome[]): string[] {
  return KEYS.flatMap((key) => {
    const whole = outcomes.filter(
      ({ ask, heard }) => ask.keyed === key && ask.client === 'stays' && heard?.status === 200 && isWhole(heard),
    )
    const traces = new Set(whole.map(({ heard }) => heard?.headers['agent-trace-id']))
    const bodies = new Set(whole.map(({ heard }) => heard?.text))
    return traces.size > 1 || bodies.size > 1 ? [`key ${key} has ${traces.size} answers`] : []
  })
}

const isWhole = ({ complete, text }: Heard) => complete && !text.includes('"error"')

/** Where every client stays and the store does too, the sum of what they were told is all that was spent. */
function ofSums({ spent }: Ledger, told: ReadonlyMap<string, number>, outcomes: readonly Outcome[]): string[] {
  if (outcomes.some(({ ask, heard }) => ask.client !== 'stays' || !heard?.complete)) return []
  const sum = [...told.values()].reduce((total, one) => total + one, 0)
  return sum === spent ? [] : [`${spent} spent, ${sum} told`]
}

withScene(
  (scene) => {
    test('R41, R42, R43 spent = Σ events = Σ told, held = 0, whatever goes wrong', async () => {
      process.stdout.write(`money: ${runs} histories on ${ENGINE}, SIM_SEED=${seed}\n`)
      const property = fc.asyncProperty(histories, async (history) => {
        expect(findings(await play(scene(), history))).toEqual([])
      })
      await fc.assert(property, { seed, numRuns: runs, endOnFailure: true })
    }, 600_000)
  },
  { stages: runs, config },
)

const PLANTED: [string, RegExp, string][] = [
  [
    'a charge that is counted a micro too high',
    /spent_micros = spent_micros \+ $/,
    'spent_micros = spent_micros + 1 + ',
  ],
  ['a charge that only its event knows', /spent_micros = spent_micros \+ $/, 'spent_micros = spent_micros + 0 * '],
  ['a limit that is not looked at', /OR spent_micros \+ held_micros \+ $/, 'OR 0 * '],
]

test.each(PLANTED)('R43 planted: %s is noticed', async (_what, from, to) => {
  const scene = await startScene({ stages: 30, config })
  mutateSql(scene.tampering, from, to)
  const property = fc.asyncProperty(histories, async (history) => findings(await play(scene, history)).length === 0)
  const { failed } = await fc.check(property, { seed: 7, numRuns: 30, endOnFailure: true })
  await scene.stop()
  expect(failed).toBe(true)
})
