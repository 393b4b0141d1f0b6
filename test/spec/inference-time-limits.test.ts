// R71: streams that come to a time limit of ours in mid-stream: the provider's, or the longest that any call may take.
// Within the project's waiver of the day nobody pays; beyond it what has come is paid, however many ask for it at once.
import { beforeEach, describe, expect, test } from 'vitest'
import { heldTimers } from '../support/held-timers.ts'
import { KEY, lastEvent, TEXT } from '../support/inference-cases.ts'
import { type Heard, moneyIn, saidIn } from '../support/inference-client.ts'
import { HASTY, MAX_OUTPUT, PRICES, type Stage, withScene } from '../support/inference-scene.ts'
import { readScrape, sumOf } from '../support/scrape.ts'
import { textOf } from '../support/tampered-db.ts'
import type { Behaviour } from '../support/upstream.ts'

const WAIVER = 300
const MINUTE_MS = 60_000
const LONGEST_MS = 30 * MINUTE_MS
const STREAM = { stream: true }
const TOO_LONG = /was cut off: its answer took too long\. /
const CHARGED = 'What had come was charged.'
const FREE = 'Nothing was charged.'

/** A provider that may take longer than any call does. */
const patient = ({ base_url }: { base_url: string }) => ({
  id: 'patient',
  base_url,
  api_key: 'sk-upstream',
  timeouts: { connect_ms: 5_000, first_byte_ms: 2 * LONGEST_MS, idle_ms: 2 * LONGEST_MS, total_ms: 2 * LONGEST_MS },
  models: [{ id: 'patient', ...PRICES, max_output_tokens: MAX_OUTPUT }],
})
const config = (one: { base_url: string }) => ({
  deadlines: { waiver_micros: WAIVER, waiver_pct: 0 },
  providers: [patient(one)],
})

/** All of its text, and then nothing; a comment whenever the test says so, so that it is not silent for too long. */
function unending(): { behaviour: Behaviour; sign(): Promise<void> } {
  const answers: { write(text: string): boolean }[] = []
  const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: TEXT } }] })}\n\n`
  return {
    behaviour: {
      async respond(_request, response) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(chunk)
        answers.push(response)
        await new Promise((resolve) => response.once('close', resolve))
      },
    },
    async sign() {
      for (const answer of answers) answer.write(': on\n\n')
    },
  }
}

withScene(
  (scene) => {
    let timers: ReturnType<typeof heldTimers>
    beforeEach(() => {
      timers = heldTimers()
    })

    /** What is owed for all of the text, where nobody has counted. */
    const owedBy = (stage: Stage, model: string) =>
      Math.ceil(JSON.stringify({ ...stage.bodyOf(STREAM), model }).length / 4) + 2 * Math.ceil(TEXT.length / 4)

    const turns = async () => {
      for (let n = 0; n < 3; n++) await fetch(`${scene().origin}/v1/models`) // what was said is heard by then
    }

    /** Streams that go on until their provider's time is over. */
    async function cutOff(stage: Stage, count = 1, keyed?: string) {
      const { behaviour, sign } = unending()
      stage.one.behave(behaviour)
      const calls = Array.from({ length: count }, () =>
        stage.openChat({ ...STREAM, model: stage.hasty }, keyed === undefined ? {} : { keyed }),
      )
      await Promise.all(calls.map((call) => call.says(TEXT)))
      for (let passed_ms = 0; passed_ms < HASTY.total_ms; passed_ms += 4_000) {
        await sign()
        await turns()
        timers.pass(4_000)
      }
      return Promise.all(calls.map(({ heard }) => heard))
    }

    const usedUp = (stage: Stage) => cutOff(stage, Math.floor(WAIVER / owedBy(stage, stage.hasty)))

    test('R71 within the waiver nobody pays, and what was waived is in the event and the metrics', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      const metric = async () =>
        sumOf(readScrape(await scene().metrics.registry.metrics()), 'switchyard_generation_micros_total', {
          kind: 'waived',
        })
      const before = await metric()
      const [heard] = (await cutOff(stage)) as [Heard]
      const waived_micros = owedBy(stage, stage.hasty)
      expect([saidIn(heard), moneyIn(heard)]).toEqual([TEXT, 0])
      expect(lastEvent(heard).error.message).toMatch(TOO_LONG)
      expect(lastEvent(heard).error.message).toContain(FREE)
      const { events } = await stage.audit()
      const attempts = [{ failure: 'total_timeout' }]
      expect(events).toMatchObject([{ status: 'upstream_failed', charged_micros: 0, waived_micros, attempts }])
      expect((await metric()) - before).toBe(waived_micros)
    })

    describe('beyond the waiver', () => {
      test.each([
        ['not keyed', undefined],
        ['keyed', KEY],
      ])('R71 what has come is paid, it says so, and the key is free: %s', async (_form, keyed) => {
        const stage = await scene().stage({ key: 1_000_000 })
        await usedUp(stage)
        expect((await stage.audit()).spent).toBe(0)
        const [heard] = (await cutOff(stage, 1, keyed)) as [Heard]
        const charged_micros = owedBy(stage, stage.hasty)
        expect([saidIn(heard), moneyIn(heard)]).toEqual([TEXT, charged_micros])
        expect(lastEvent(heard).error.message).toMatch(TOO_LONG)
        expect(lastEvent(heard).error.message).toContain(CHARGED)
        const { events, spent } = await stage.audit()
        expect([spent, events.at(-1)]).toMatchObject([
          charged_micros,
          { status: 'upstream_failed', charged_micros, waived_micros: 0 },
        ])
        const { timeline } = (await stage.get(`/v2/traces/${events.at(-1)?.trace_id}`)).body
        expect(timeline.at(-1).sentence).toBe('It broke off in mid-answer; what had come was charged.')
        if (keyed) expect(await stage.keyState(keyed)).toBe('free')
      })

      test('R71 the longest that any call may take is such a limit, too', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        await usedUp(stage)
        stage.one.behave(unending().behaviour)
        const call = stage.openChat({ ...STREAM, model: 'patient' })
        await call.says(TEXT)
        timers.pass(LONGEST_MS)
        const heard = await call.heard
        const charged_micros = owedBy(stage, 'patient')
        const message = `The time limit has passed. ${CHARGED}`
        expect(lastEvent(heard).error).toMatchObject({ type: 'deadline_exceeded', message })
        expect(moneyIn(heard)).toBe(charged_micros)
        const { events, spent } = await stage.audit()
        expect(events.at(-1)).toMatchObject({ status: 'deadline_exceeded', charged_micros, waived_micros: 0 })
        expect(spent).toBe(charged_micros)
        const trace = (await stage.get(`/v2/traces/${events.at(-1)?.trace_id}`)).body
        expect(trace.refusal.message).toBe(message)
      })

      test('R47 an upstream that falls silent is its own failure: nobody pays', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        await usedUp(stage)
        stage.one.behave(unending().behaviour)
        const call = stage.openChat({ ...STREAM, model: stage.hasty })
        await call.says(TEXT)
        timers.pass(HASTY.idle_ms)
        const heard = await call.heard
        expect(lastEvent(heard).error.message).toContain(FREE)
        expect([moneyIn(heard), (await stage.audit()).spent]).toEqual([0, 0])
      })

      test('R71 a store that cannot be asked waives nothing', async () => {
        const stage = await scene().stage({ key: 1_000_000 })
        scene().tampering.rows = (statement, run) =>
          /^UPDATE project SET waived_micros/.test(textOf(statement))
            ? Promise.reject(new Error('broken'))
            : run(statement)
        const [heard] = (await cutOff(stage)) as [Heard]
        scene().tampering.rows = undefined
        expect([moneyIn(heard), (await stage.audit()).spent]).toEqual(Array(2).fill(owedBy(stage, stage.hasty)))
      })
    })

    test('R71 of thirty at once, exactly those are let off that fit', async () => {
      const stage = await scene().stage({ key: 1_000_000 })
      const owed = owedBy(stage, stage.hasty)
      const fit = Math.floor(WAIVER / owed)
      const heard = await cutOff(stage, 30)
      const { events, spent } = await stage.audit()
      const waived = events.reduce((sum, { waived_micros }) => sum + waived_micros, 0)
      expect([waived, spent]).toEqual([fit * owed, (30 - fit) * owed])
      expect(heard.filter((one) => moneyIn(one) === 0)).toHaveLength(fit)
      expect(heard.filter((one) => lastEvent(one).error.message.includes(CHARGED))).toHaveLength(30 - fit)
    })
  },
  { config },
)
