// §8.1 the rules of replay runs: samples, bodies, comparisons, intervals, and what follows on an answer.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { noDifference } from '../../test/support/replays.ts'
import { isApart, meanOf, rateOf } from './intervals.ts'
import { type Compared, compare } from './replay-comparison.ts'
import { afterCall, mayBeAsked } from './replay-item.ts'
import { isBackground } from './replay-plan.ts'
import { mayBegin } from './replay-run.ts'
import { checkSource, sampleOf } from './replay-source.ts'
import { checkOverrides, checkTarget, replayedBody } from './replay-target.ts'
import { ownEndpoint } from './replayed-call.ts'
import { canonical, type Said, sameness } from './said-comparison.ts'

const traceId = fc.string({ minLength: 1, maxLength: 8 })

describe('samples', () => {
  test('§8.1 a sample is the same for the same calls, in whatever order, and has as many as there are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(traceId),
        fc.string({ minLength: 1 }),
        fc.integer({ min: 1, max: 20 }),
        async (ids, seed, n) => {
          const drawn = await sampleOf(ids, { n, seed })
          expect(await sampleOf([...ids].reverse(), { n, seed })).toEqual(drawn)
          expect(new Set(drawn).size).toBe(Math.min(n, ids.length))
          expect(drawn.every((id) => ids.includes(id))).toBe(true)
        },
      ),
    )
  })

  test('§8.1 a larger sample of one seed has the smaller in it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(traceId), fc.integer({ min: 1, max: 10 }), async (ids, n) => {
        const larger = await sampleOf(ids, { n: n + 3, seed: 'a' })
        expect((await sampleOf(ids, { n, seed: 'a' })).every((id) => larger.includes(id))).toBe(true)
      }),
    )
  })

  test.each([
    ['nothing', {}, "'source'"],
    ['two of them', { trace_ids: ['a'], session_id: 'b' }, "'source'"],
    ['a sample of named calls', { trace_ids: ['a'], sample: { n: 1, seed: 'a' } }, "'source.sample'"],
    ['a NUL', { trace_ids: ['a\0'] }, "'source.trace_ids'"],
    ['no time', { filter: { from: 'now' } }, "'source.filter.from'"],
    [
      'an empty range',
      { filter: { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' } },
      "'source.filter.from'",
    ],
  ])('§8.1 no source: %s', (_case, source, named) => {
    expect(() => checkSource(source, 0)).toThrow(named)
  })
})

describe('bodies', () => {
  const recorded = (body: object, endpoint = '/v1/chat/completions') => ({
    endpoint,
    request: Buffer.from(JSON.stringify(body)),
  })

  test('§8.1 what is not changed is sent byte for byte', async () => {
    const call = recorded({ model: 'a', messages: [] })
    expect((await replayedBody(call, {})).equals(call.request)).toBe(true)
    expect((await replayedBody(call, { overrides: null })).equals(call.request)).toBe(true)
  })

  test('§8.1 model and overrides replace fields, null leaves one out, and the rest stays', async () => {
    const body = { model: 'a', temperature: 1, top_p: 0.5, messages: [{ role: 'user', content: 'x' }] }
    const overrides = { temperature: 0, top_p: null, seed: 7 }
    const changed = await replayedBody(recorded(body), { model: 'b', overrides })
    const { top_p: _top_p, ...rest } = body
    expect(JSON.parse(changed.toString())).toEqual({ ...rest, model: 'b', temperature: 0, seed: 7 })
  })

  test.each([
    ['/v1/responses', { background: true }, true],
    ['/v2/responses', { background: true }, true],
    ['/openai/v1/responses', { background: true }, true],
    ['/v1/responses', { background: false }, false],
    ['/v1/responses', { background: 'true' }, false],
    ['/v1/responses', {}, false],
    ['/v1/chat/completions', { background: true }, false],
  ])('§8.1 answered before anything was said: %s %j is %s', async (endpoint, body, is_so) => {
    expect(await isBackground(recorded(body, endpoint))).toBe(is_so)
  })

  test('§8.1 what is no JSON was not answered in the background', async () => {
    expect(await isBackground({ endpoint: '/v1/responses', request: Buffer.from('{"background":true') })).toBe(false)
  })

  test.each([
    ['/openai/deployments/:deployment/chat/completions', '/v1/chat/completions'],
    ['/openai/v1/completions', '/v1/completions'],
    ['/openai/responses', '/v1/responses'],
    ['/v1/chat/completions', '/v1/chat/completions'],
    ['/v2/responses', '/v2/responses'],
    ['/anthropic/v1/messages', '/anthropic/v1/messages'],
  ])('§8.1 %s is asked again by %s', (recorded_by, own) => {
    expect(ownEndpoint(recorded_by)).toBe(own)
  })

  test('§8.1 nothing of a replay is stored as a response, in either arm', async () => {
    for (const endpoint of ['/v1/responses', '/v2/responses']) {
      const body = await replayedBody(recorded({ model: 'a', input: 'x' }, endpoint), {})
      expect(JSON.parse(body.toString()).store).toBe(false)
    }
  })

  test('§8.1 what is said and how it is sent cannot be overridden; a target is named, and a release alone', () => {
    for (const name of ['model', 'messages', 'input', 'stream', 'store', 'previous_response_id'])
      expect(() => checkOverrides({ [name]: 1 })).toThrow(`'overrides.${name}'`)
    expect(() => checkOverrides({ a: 'x'.repeat(20_000) })).toThrow("'overrides'")
    expect(() => checkTarget({})).toThrow("'target'")
    expect(() => checkTarget({ model: 'a', alias_release_id: 'alr_1' })).toThrow("'target.alias_release_id'")
    expect(checkTarget({ model: ' a ', cluster_id: 'byc_1' })).toEqual({ model: 'a', cluster_id: 'byc_1' })
  })
})

describe('what is said', () => {
  const said = (more: Partial<Said> = {}): Said => ({ text: 'x', finish_reason: 'stop', tools: [], ...more })

  test('§8.1 canonical JSON: any order of keys and any spaces, and nothing else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())), (value) => {
        const reversed = (one: unknown): unknown => {
          if (Array.isArray(one)) return one.map(reversed)
          if (typeof one !== 'object' || one === null) return one
          return Object.fromEntries(
            Object.entries(one)
              .reverse()
              .map(([name, inner]) => [name, reversed(inner)]),
          )
        }
        const text = canonical(JSON.stringify(value))
        expect(text).toBeDefined()
        expect(canonical(JSON.stringify(reversed(value), null, 2))).toBe(text)
        expect(canonical(`\`\`\`json\n${JSON.stringify(value)}\n\`\`\``)).toBe(text)
      }),
    )
    expect(canonical('{"a":1}')).not.toBe(canonical('{"a":2}'))
    expect(canonical('{"entries":[["a",1]]}')).not.toBe(canonical('{"a":1}'))
    for (const text of ['', 'yes', '1', '"a"', '{', '[1']) expect(canonical(text)).toBeUndefined()
    const fenced = ['```\n[1]\n```', ' ```json \n\n[1]\n\n ```\n', '```json\r\n[1]\r\n```']
    for (const text of fenced) expect(canonical(text)).toBe(canonical('[1]'))
    for (const text of ['```\n```', '```[1]```', '```js\n[1]\n```', '```\n[1]```'])
      expect(canonical(text)).toBeUndefined()
  })

  test.each([
    ['blank lines behind a fence', `\`\`\`${'\n'.repeat(1_000_000)}`],
    ['a fence that has no end', `\`\`\`\n{${'\n'.repeat(1_000_000)}`],
    ['millions of empty lists', `[${'[],'.repeat(2_000_000)}[]]`],
  ])('R77 %s: two answers are compared as texts, and nobody waits for it', (_what, text) => {
    const started = performance.now()
    const tools = Array(50).fill({ name: 'f', arguments: text.slice(0, 100_000) })
    expect(sameness(said({ text, tools }), said({ text, tools }))).toMatchObject({ text: true, json: null })
    expect(performance.now() - started).toBeLessThan(2_000)
  })

  test('§8.1 an answer is the same as itself, whatever it says', () => {
    const tool = fc.record({ name: fc.string(), arguments: fc.oneof(fc.string(), fc.json()) })
    const any = fc.record({ text: fc.string(), finish_reason: fc.option(fc.string()), tools: fc.array(tool) })
    fc.assert(
      fc.property(any, (one) => {
        const { json, tool_names, tool_arguments, ...always } = sameness(one, structuredClone(one))
        expect(Object.values(always)).toEqual([true, true])
        for (const same of [json, tool_names, tool_arguments]) expect(same).not.toBe(false)
      }),
    )
  })

  test('§8.1 what differs is told apart', () => {
    expect(sameness(said(), said({ text: 'y' }))).toMatchObject({ text: false, json: null, finish_reason: true })
    expect(sameness(said({ text: '{"a":1,"b":2}' }), said({ text: '{ "b": 2, "a": 1 }' }))).toMatchObject({
      ...{ text: false, json: true },
    })
    const call = (name: string, given: string) => said({ tools: [{ name, arguments: given }] })
    expect(sameness(call('f', '{"a":1}'), call('f', '{"a":2}'))).toMatchObject({
      tool_names: true,
      tool_arguments: false,
    })
    expect(sameness(call('f', '{"a":1}'), call('f', '{ "a": 1 }'))).toMatchObject({ tool_arguments: true })
    expect(sameness(call('f', ''), call('g', ''))).toMatchObject({ tool_names: false, tool_arguments: false })
    expect(sameness(call('f', ''), said())).toMatchObject({ tool_names: false, tool_arguments: false })
  })
})

describe('intervals', () => {
  test('§8.1 Wilson: the rate lies within, the interval within 0 and 1, and more calls make it narrower', () => {
    const counts = fc
      .integer({ min: 1, max: 2_000 })
      .chain((of) => fc.tuple(fc.integer({ min: 0, max: of }), fc.constant(of)))
    fc.assert(
      fc.property(counts, ([count, of]) => {
        const { rate, low, high } = rateOf(count, of)
        expect(0 <= low && low <= rate + 1e-12 && rate <= high + 1e-12 && high <= 1).toBe(true)
        const more = rateOf(count * 10, of * 10)
        expect(more.high - more.low).toBeLessThanOrEqual(high - low + 1e-12)
      }),
    )
  })

  test('§8.1 Wilson by the book: 10 of 100', () => {
    const { low, high } = rateOf(10, 100)
    expect([low.toFixed(4), high.toFixed(4)]).toEqual(['0.0552', '0.1744'])
    expect(rateOf(0, 0)).toEqual({ count: 0, of: 0, rate: 0, low: 0, high: 1 })
  })

  test('§8.1 a mean lies within its interval; what does not vary has none to speak of', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1_000, max: 1_000 }), { minLength: 1 }), (values) => {
        const { mean, low, high } = meanOf(values)
        expect(low <= mean + 1e-9 && mean <= high + 1e-9).toBe(true)
      }),
    )
    expect(meanOf([3, 3, 3])).toEqual({ mean: 3, low: 3, high: 3 })
    expect(isApart(meanOf([3]), { low: 0, high: 0 })).toBe(false)
  })
})

describe('comparison', () => {
  const items = (arm: Compared['arm'], different: number, of: number, cost = 0): Compared[] =>
    Array.from({ length: of }, (_, n) => noDifference(arm, { text: n >= different, charged_micros: cost }))

  test('§8.1 a difference is told only where it exceeds that of the control arm', () => {
    const noisy = compare('rpl_1', [...items('target', 30, 100), ...items('control', 25, 100)], true)
    expect(noisy.differences).toEqual([])
    const worse = compare('rpl_1', [...items('target', 60, 100), ...items('control', 10, 100)], true)
    expect(worse.differences).toEqual(['text'])
    const alone = compare('rpl_1', items('target', 30, 100), false)
    expect([alone.differences, alone.control_compared]).toEqual([['text'], null])
  })

  test('§8.1 never told where both arms did the same, and cost to the micro', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 9 }), (different, cost) => {
        const both = [...items('target', different, 40, cost), ...items('control', different, 40, cost)]
        const { differences, amounts } = compare('rpl_1', both, true)
        expect(differences).toEqual([])
        expect(amounts.find(({ measure }) => measure === 'charged_micros')?.target.delta).toBe(40 * cost)
      }),
    )
  })
})

describe('what follows on an answer', () => {
  const following = (status: number, more: object = {}, is_alone = true, attempts = 0) =>
    afterCall({ status, type: null, message: 'm', is_completed: status < 300, ...more }, attempts, {
      is_alone,
      now: 1_000,
    })

  test('§8.1 done, tried again or over', () => {
    expect(following(200)).toEqual({ kind: 'done' })
    expect(following(401)).toEqual({ kind: 'run_over' })
    expect(following(409, {}, true, 3)).toMatchObject({ kind: 'again', attempts: 3 })
    expect(following(410)).toMatchObject({ kind: 'over', status: 'failed', reason: 'erased' })
    expect(following(400)).toMatchObject({ kind: 'over', status: 'failed', reason: 'refused' })
    for (const status of [408, 429, 500, 502, 503, 504])
      expect(following(status)).toMatchObject({ kind: 'again', attempts: 1 })
    expect(following(200, { is_completed: false })).toMatchObject({ kind: 'again', attempts: 1 })
    expect(following(502, {}, true, 3)).toMatchObject({ kind: 'over', reason: 'upstream' })
  })

  test('§8.1 what does not fit waits for those under way, and is skipped where there are none', () => {
    const quota = { type: 'quota_exceeded' }
    expect(following(429, quota, false)).toEqual({ kind: 'again', not_before_ms: 1_000, attempts: 0 })
    expect(following(429, quota, true)).toMatchObject({ kind: 'over', status: 'skipped', reason: 'max_cost' })
  })

  test('§8.1 an item that was begun so long ago that its answer may be forgotten is not asked again', () => {
    const day = 24 * 3_600_000
    expect([mayBeAsked(null, day), mayBeAsked(day - 1, day), mayBeAsked(0, day)]).toEqual([true, true, false])
  })
})

test('R78 two runs whose calls never end leave places for those of others', () => {
  const under_way = [0, 0]
  const inAll = () => under_way.reduce((sum, one) => sum + one, 0)
  for (let round = 0; round < 10; round++)
    for (const run of [0, 1]) under_way[run] = (under_way[run] ?? 0) + mayBegin(8, under_way[run] ?? 0, inAll())
  expect(under_way).toEqual([8, 6])
  expect([mayBegin(8, 0, 14), mayBegin(8, 0, 15), mayBegin(8, 0, 16), mayBegin(8, 1, 15)]).toEqual([1, 1, 0, 0])
  expect(mayBegin(1, 0, 0)).toBe(1)
})
