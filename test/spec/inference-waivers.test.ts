// R71: deadlines that pass in mid-stream. Within the project's waiver of the day nobody pays; beyond it the stream runs
// on and is charged, and says so. No number of streams together is let off more than the waiver.
import { describe, expect, test } from 'vitest'
import { heldTimers } from '../support/held-timers.ts'
import { comesTrue, KEY, lastEvent, TEXT } from '../support/inference-cases.ts'
import { eventsIn, type Heard, hintsHeader, moneyIn, type OpenCall, saidIn } from '../support/inference-client.ts'
import { type Scene, type Stage, startScene, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { readScrape, sumOf } from '../support/scrape.ts'
import { deferred, mutateSql, textOf } from '../support/tampered-db.ts'
import type { Behaviour } from '../support/upstream.ts'

type HeldTimers = ReturnType<typeof heldTimers>

const MICROS = 'switchyard_generation_micros_total'
const WAIVER = 300
const DEADLINE_MS = 700
const DEADLINE = hintsHeader({
  qos: { deadline_ms: DEADLINE_MS },
  safety: { retry_safety: 'idempotent_generation_only' },
})
const STREAM = { stream: true }
const config = { deadlines: { waiver_micros: WAIVER, waiver_pct: 0 } }

/** All of its text, and then nothing until the gate opens: the usage comes last. */
const paused = (gate: Promise<unknown>): Behaviour => ({
  chunks: 3,
  pace: (event) => (event === 4 ? gate : undefined),
})

/** What is owed for all of the text, where nobody has counted. */
const owedBy = (stage: Stage) =>
  Math.ceil(JSON.stringify(stage.bodyOf(STREAM)).length / 4) + 2 * Math.ceil(TEXT.length / 4)

/** How often the store was asked to waive something. */
function countAsked(scene: Scene) {
  const counted = { asked: 0 }
  const before = scene.tampering.rows
  scene.tampering.rows = async (statement, run) => {
    const rows = await (before ? before(statement, run) : run(statement))
    if (/^UPDATE project SET waived_micros/.test(textOf(statement))) counted.asked++
    return rows
  }
  return counted
}

const honored = ({ headers, trailers }: Heard) => [headers['agent-hints-honored'], trailers['agent-hints-honored']]

/** Once their clients have heard all of the text, the deadline of these streams passes. */
async function passes(timers: HeldTimers, calls: readonly OpenCall[], deadline_ms = DEADLINE_MS): Promise<void> {
  await Promise.all(calls.map((call) => call.says('pstream.')))
  timers.pass(deadline_ms)
}

/** Many streams whose deadline passes together; what became of them. */
async function hundredLate(scene: Scene, count: number) {
  const timers = heldTimers()
  const stage = await scene.stage({ key: 1_000_000 })
  const counted = countAsked(scene)
  const gate = deferred()
  stage.one.behave(paused(gate.promise))
  const headers = hintsHeader({ qos: { deadline_ms: 4_000 } })
  const calls = Array.from({ length: count }, () => stage.openChat(STREAM, { headers }))
  await passes(timers, calls, 4_000)
  await comesTrue(async () => counted.asked === count)
  gate.resolve()
  const heard = await Promise.all(calls.map((call) => call.heard))
  scene.tampering.rows = undefined
  const { events, spent } = await stage.audit()
  const waived = events.reduce((sum, { waived_micros }) => sum + waived_micros, 0)
  return { heard, events, spent, waived, owed: owedBy(stage) }
}

withScene(
  (scene) => {
    describe('within the waiver', () => {
      test('R71 it ends, nobody pays, and what was waived is in the event, the sums and the metrics', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        const metric = async () =>
          sumOf(readScrape(await scene().metrics.registry.metrics()), MICROS, { kind: 'waived' })
        const before = await metric()
        stage.one.behave(paused(new Promise(() => {})))
        const call = stage.openChat(STREAM, { headers: DEADLINE })
        await passes(heldTimers(), [call])
        const heard = await call.heard
        expect(lastEvent(heard).error).toMatchObject({ type: 'deadline_exceeded' })
        expect([saidIn(heard), moneyIn(heard), honored(heard)]).toEqual([TEXT, 0, ['qos,safety', undefined]])
        const waived_micros = owedBy(stage)
        const { events } = await stage.audit()
        expect(events).toMatchObject([{ status: 'deadline_exceeded', charged_micros: 0, waived_micros }])
        expect((await metric()) - before).toBe(waived_micros)
        const [day] = (await stage.get('/v2/usage?group_by=day')).body.data
        expect([day.charged_micros, day.waived_micros]).toEqual([0, waived_micros])
        const trace = (await stage.get(`/v2/traces/${events[0]?.trace_id}`)).body
        expect(trace.usage.waived_micros).toBe(waived_micros)
        expect(await (await stage.one.request(1)).over).toBe('left')
      })

      test('R71 nobody is asked before a deadline passes, nor for a call without one', async () => {
        const stage = await scene().stage()
        const counted = countAsked(scene())
        await stage.chat(STREAM)
        const heard = await stage.chat(STREAM, { headers: hintsHeader({ qos: { deadline_ms: 60_000 } }) })
        scene().tampering.rows = undefined
        expect([counted.asked, honored(heard)]).toEqual([0, ['qos', undefined]])
      })

      test('R71 a client that has left pays for what was produced, whatever its deadline', async () => {
        const stage = await scene().stage()
        stage.one.behave(paused(new Promise(() => {})))
        const call = stage.openChat(STREAM, { headers: DEADLINE })
        await call.says('pstream.')
        call.leave()
        const { events } = await stage.until((ledger) => ledger.events.length === 1)
        const charged_micros = owedBy(stage)
        expect(events).toMatchObject([{ status: 'client_left', charged_micros, waived_micros: 0 }])
        await stage.audit()
      })
    })

    test('R71 a deadline that passes while a whole stream is being settled was kept: nothing is waived', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      const timers = heldTimers()
      const { tampering } = scene()
      const [settling, go] = [deferred(), deferred()]
      tampering.rows = async (statement, run) => {
        if (/^INSERT INTO usage_event/.test(textOf(statement))) {
          settling.resolve()
          await go.promise
        }
        return run(statement)
      }
      const counted = countAsked(scene())
      const call = stage.openChat(STREAM, { headers: DEADLINE })
      await settling.promise
      timers.pass(DEADLINE_MS)
      go.resolve()
      const heard = await call.heard
      tampering.rows = undefined
      expect([counted.asked, moneyIn(heard), honored(heard)[1]]).toEqual([0, USUAL_COST, undefined])
      expect((await stage.audit()).events).toMatchObject([{ status: 'completed', waived_micros: 0 }])
    })

    describe('beyond the waiver', () => {
      /** A stage whose waiver is used up. */
      async function usedUp(timers: HeldTimers): Promise<Stage> {
        const stage = await scene().stage({ key: 1_000_000 })
        stage.one.behave(paused(new Promise(() => {})))
        const fit = Math.floor(WAIVER / owedBy(stage))
        const calls = Array.from({ length: fit }, () => stage.openChat(STREAM, { headers: DEADLINE }))
        await passes(timers, calls)
        await Promise.all(calls.map((call) => call.heard))
        expect((await stage.audit()).events).toHaveLength(fit)
        stage.one.requests.length = 0
        return stage
      }

      /** A stream that is still there when its deadline has passed, and what it says in the end. */
      async function outlived(stage: Stage, timers: HeldTimers, keyed?: string) {
        const counted = countAsked(scene())
        const gate = deferred()
        stage.one.behave(paused(gate.promise))
        const call = stage.openChat(STREAM, { headers: DEADLINE, ...(keyed && { keyed }) })
        await passes(timers, [call])
        await comesTrue(async () => counted.asked === 1)
        scene().tampering.rows = undefined
        gate.resolve()
        return call.heard
      }

      test('R71 it runs on, is charged, and says in its trailers that the deadline was not kept', async () => {
        const timers = heldTimers()
        const stage = await usedUp(timers)
        const heard = await outlived(stage, timers)
        expect([saidIn(heard), eventsIn(heard).at(-1), moneyIn(heard)]).toEqual([TEXT, '[DONE]', USUAL_COST])
        expect(honored(heard)).toEqual(['qos,safety', 'safety'])
        expect(heard.headers.trailer).toContain('agent-hints-honored')
        const { events, spent } = await stage.audit()
        expect(spent).toBe(USUAL_COST)
        expect(events.at(-1)).toMatchObject({ status: 'completed', waived_micros: 0 })
        const { headers } = (await stage.get(`/v2/traces/${events.at(-1)?.trace_id}`)).body
        const told = headers.filter(({ name }: { name: string }) => name === 'agent-hints-honored')
        expect(told.map(({ value, sent_as }: Record<string, string>) => [value, sent_as])).toEqual([
          ['qos,safety', 'header'],
          ['safety', 'trailer'],
        ])
      })

      test('R71 once that is known, the headers say so from the start, and nobody is asked', async () => {
        const timers = heldTimers()
        const stage = await usedUp(timers)
        await outlived(stage, timers)
        const counted = countAsked(scene())
        const gate = deferred()
        stage.one.behave(paused(gate.promise))
        const call = stage.openChat(STREAM, { headers: DEADLINE })
        expect((await call.head).headers['agent-hints-honored']).toBe('safety')
        stage.one.next({ wait: new Promise(() => {}) })
        const late = stage.chat({}, { headers: hintsHeader({ qos: { deadline_ms: DEADLINE_MS } }) })
        await stage.one.request(3)
        timers.pass(DEADLINE_MS)
        const later = await late
        expect(later.status).toBe(504) // by now the deadline of the first has passed, too
        gate.resolve()
        const heard = await call.heard
        scene().tampering.rows = undefined
        expect([moneyIn(heard), honored(heard), counted.asked]).toEqual([USUAL_COST, ['safety', undefined], 0])
      })

      test('R71 a keyed one is kept, and a replay says what was true in the end', async () => {
        const timers = heldTimers()
        const stage = await usedUp(timers)
        const first = await outlived(stage, timers, KEY)
        const again = await stage.chat(STREAM, { headers: DEADLINE, keyed: KEY })
        expect([again.headers['agent-idempotent-replay'], again.text]).toEqual(['true', first.text])
        expect([honored(again), moneyIn(again)]).toEqual([['safety', undefined], USUAL_COST])
      })

      test('R71 a store that cannot be asked waives nothing', async () => {
        const stage = await scene().stage()
        const gate = deferred()
        let asked = false
        stage.one.behave(paused(gate.promise))
        const timers = heldTimers()
        const call = stage.openChat(STREAM, { headers: DEADLINE })
        await call.says('pstream.')
        scene().tampering.rows = (statement, run) => {
          if (!/^UPDATE project SET waived_micros/.test(textOf(statement))) return run(statement)
          asked = true
          return Promise.reject(new Error('broken'))
        }
        timers.pass(DEADLINE_MS)
        await comesTrue(async () => asked)
        gate.resolve()
        const heard = await call.heard
        scene().tampering.rows = undefined
        expect([moneyIn(heard), honored(heard)]).toEqual([USUAL_COST, ['qos,safety', 'safety']])
        await stage.audit()
      })
    })

    test('R71 of a hundred streams at once, exactly those are let off that fit', async () => {
      const { heard, events, spent, waived, owed } = await hundredLate(scene(), 100)
      const fit = Math.floor(WAIVER / owed)
      const ended = events.filter(({ status }) => status === 'deadline_exceeded')
      expect([ended.length, waived, spent]).toEqual([fit, fit * owed, (100 - fit) * USUAL_COST])
      expect(heard.filter((one) => eventsIn(one).at(-1) === '[DONE]')).toHaveLength(100 - fit)
      expect(heard.reduce((sum, one) => sum + (moneyIn(one) ?? 0), 0)).toBe(spent)
    })
  },
  { config },
)

test('R71 planted: a waiver that is not bounded is noticed', async () => {
  const scene = await startScene({ stages: 1, config })
  mutateSql(scene.tampering, /OR 100 \* \(/, 'OR 0 * (')
  const { waived } = await hundredLate(scene, 30)
  await scene.stop()
  expect(waived).toBeGreaterThan(WAIVER)
})
