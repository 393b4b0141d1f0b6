// F18: hostile answers of upstreams, in OpenAI's protocol and in Anthropic's, whole and streamed: no crash, no poisoned
// connection, no count or charge that cannot be, no long turn. FUZZ_SEED=… repeats a run, FUZZ_ANSWERS=… lengthens it.
import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Heard } from '../support/inference-client.ts'
import { CHAT, PRICES, type Stage, startScene } from '../support/inference-scene.ts'
import { planted } from '../support/planted.ts'
import { sized } from '../support/sizes.ts'
import { type HostileAnswer, hostileAnswers, ROUTES } from '../torture/hostile-answers.ts'
import { startRawUpstream } from '../torture/raw-upstream.ts'
import { foundBy, isClean, table } from '../torture/report.ts'
import { UPSTREAM_CHECKS, type UpstreamPlant, upstreams } from '../torture/upstreams.ts'

const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31 - 1))
// Each run draws others; `npm run torture -- upstreams` reads a million. Counts that are believed and careless readers
// show within 3,000 of any seed that was tried; a long walk within 3,000 of the one below, of others not in 100,000.
const ANSWERS = Number(process.env.FUZZ_ANSWERS ?? sized(30_000))
const OVER_SOCKETS = Number(process.env.FUZZ_OVER_SOCKETS ?? sized(400))

test('F18, R77 thousands of hostile answers through the code that reads them', { timeout: 600_000 }, async () => {
  const report = await upstreams({ answers: ANSWERS, seed })
  process.stdout.write(`${table(report)}\n`)
  expect(isClean(report), table(report)).toBe(true)
  expect(report.figures.answer).toBeGreaterThan(ANSWERS / 10)
})

planted.each<[string, UpstreamPlant, keyof typeof UPSTREAM_CHECKS]>([
  ['counts of −5 and 2^60 that are believed', 'any-count', 'count'],
  ['a reader that takes something for granted', 'careless-reader', 'crash'],
  ['a walk that its bytes do not bound', 'long-walk', 'time'],
])('F18 it catches %s', { timeout: 600_000 }, async (_bug, plant, check) => {
  const report = await upstreams({ answers: 3_000, seed: 20_261_117, plant, until: check })
  expect(foundBy(report, UPSTREAM_CHECKS[check]).length, table(report)).toBeGreaterThan(0)
})

function framed(value: unknown): Buffer {
  const body = JSON.stringify(value)
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
}

const usage = { prompt_tokens: 3, completion_tokens: 4 }
const counts = { input_tokens: 3, output_tokens: 4 }
const RIGHT: Record<string, Buffer> = {
  '/v1/chat/completions': framed({ choices: [{ index: 0, message: { role: 'assistant', content: 'right' } }], usage }),
  '/v1/completions': framed({ choices: [{ index: 0, text: 'right' }], usage }),
  '/v1/embeddings': framed({ data: [{ embedding: [1], object: 'right' }], usage: { prompt_tokens: 3 } }),
  '/v1/responses': framed({ id: 'resp_r', object: 'response', output: [{ text: 'right' }], usage: counts }),
  '/v1/messages': framed({
    ...{ id: 'msg_1', model: 'm', stop_reason: 'end_turn', usage: counts, content: [{ type: 'text', text: 'right' }] },
  }),
}
/** Three tokens in, four out. */
const RIGHT_COST = 11
const EMBEDDING_COST = 3

/** Over real sockets, through the whole service: after each hostile answer, the next call is right and costs what it does. */
test('F18 hundreds of hostile answers over sockets, and a right one after each', { timeout: 600_000 }, async () => {
  let next: HostileAnswer | undefined
  const upstream = await startRawUpstream((path) => {
    const hostile = next
    next = undefined
    return hostile ?? { pieces: [RIGHT[path] ?? Buffer.alloc(0)], closes: RIGHT[path] === undefined }
  })
  const models = (...ids: string[]) => ids.map((id) => ({ id, ...PRICES, max_output_tokens: 1_000 }))
  const common = { api_key: 'sk', base_url: upstream.base_url, max_concurrency: 1 }
  const scene = await startScene({
    stages: 1,
    config: {
      providers: [
        { id: 'raw', ...common, responses: true, models: models('openai') },
        { id: 'raw-chat', ...common, models: models('over-chat') },
        { id: 'raw-anthropic', ...common, protocol: 'anthropic', models: models('anthropic') },
      ],
      limits: { shadow: ['key'] }, // an answer may say that it took a thousand million tokens
    },
  })
  const stage = await scene.stage()
  let spent = 0
  let charged = 0
  try {
    for (const hostile of fc.sample(hostileAnswers, { numRuns: OVER_SOCKETS, seed })) {
      next = hostile
      const heard = await ask(stage, hostile)
      next = undefined
      const told = `${hostile.route} ${hostile.stream} ${hostile.status}: ${heard.text.slice(0, 500)}`
      if (heard.status >= 400) expect(heard.json?.error?.message, told).toEqual(expect.any(String))
      else expect(heard.complete, told).toBe(true)
      expect([500, 503], told).not.toContain(heard.status)
      const right = await ask(stage, { ...hostile, stream: false })
      expect([right.status, right.text.includes('right')], told).toEqual([200, true])
      const cost = hostile.route === 'embeddings' ? EMBEDDING_COST : RIGHT_COST
      const { events, spent: now } = await stage.ledger()
      expect([events.at(-1)?.charged_micros, now - spent - cost >= 0], told).toEqual([cost, true])
      charged += now > spent + cost ? 1 : 0
      spent = now
    }
    await stage.audit()
    expect(scene.log.filter((line) => line.includes('"level":50'))).toEqual([])
    process.stdout.write(
      `hostile answers over sockets: ${OVER_SOCKETS}, of which ${charged} were charged, FUZZ_SEED=${seed}\n`,
    )
  } finally {
    await scene.stop()
    await upstream.close()
  }
})

const ASKED = [{ role: 'user', content: 'hello' }]

const modelOf = ({ route }: HostileAnswer) =>
  route === 'anthropic' || route === 'over_anthropic' ? 'anthropic' : route === 'over_chat' ? 'over-chat' : 'openai'

function ask(stage: Stage, hostile: HostileAnswer): Promise<Heard> {
  const { kind } = ROUTES[hostile.route]
  const model = modelOf(hostile)
  const stream = hostile.stream && kind !== 'embeddings' && { stream: true }
  const [path, body] = {
    chat: [CHAT, { messages: ASKED }],
    completions: ['/v1/completions', { prompt: 'hello' }],
    embeddings: ['/v1/embeddings', { input: 'hello' }],
    responses: ['/v1/responses', { input: 'hello' }],
  }[kind] as [string, object]
  return stage.ask(path, { body: { model, ...body, ...stream } })
}
