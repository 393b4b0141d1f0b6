// What /metrics tells of generations: every number of a call, and all that the dashboard and the alerts of deploy/ ask
// for, found in the scrape of a server that has had calls of every kind.
import { expect, test } from 'vitest'
import { comesTrue } from '../support/inference-cases.ts'
import { eventsIn } from '../support/inference-client.ts'
import { holdFor, type Scene, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { expressionsOf, selectedBy } from '../support/promql.ts'
import { readScrape, type Series, sumOf } from '../support/scrape.ts'
import { deferred } from '../support/tampered-db.ts'

const TOTAL = 'switchyard_generations_total'
const ATTEMPTS = 'switchyard_attempts_total'
const LIMIT = 1_000_000

/** Of a server as it is scraped over the wire. */
const scrapeOf = async ({ origin }: Scene) => readScrape(await (await fetch(`${origin}/metrics`)).text())

/** What calls bring about: of these there are series. Others may be declared and have none, until something happens. */
const OF_CALLS = /^switchyard_(generation|attempts|slots|provider|budgets|holds|held|http|limit_refusals|idempotency)/
/** Labels whose values are the operator's own, or states that this server is not in. */
const OPEN = ['provider', 'model', 'status', 'route', 'le']

withScene((scene) => {
  test('§operations a call that fails over is counted to the last number', async () => {
    const stage = await scene().stage({ key: LIMIT })
    const { first, second, both: model } = stage
    stage.one.behave({ status: 500, body: 'oops' })
    stage.two.behave({ usage: { input: 100, cached: 60, cache_written: 10, output: 5 } })
    const heard = await stage.chat({ model, stream: true, stream_options: { include_usage: true } })
    expect([heard.status, eventsIn(heard).length > 2]).toEqual([200, true])

    const all = await scrapeOf(scene())
    const where = { provider: second, model, profile: 'managed_provider', mode: 'emergency_fallback' }
    const of = (name: string, more: Record<string, string> = {}) =>
      sumOf(all, `switchyard_generation${name}`, { ...where, outcome: 'completed', ...more })
    expect([of('s_total'), of('_seconds_count'), of('_first_token_seconds_count')]).toEqual([1, 1, 1])
    const tokens = ['input', 'cached', 'written', 'output', 'reasoning'].map((kind) => of('_tokens_total', { kind }))
    expect(tokens).toEqual([100, 60, 10, 5, 0])
    const [charged, direct] = [30 + 30 + 20 + 10, 100 + 10]
    const money = ['charged', 'direct', 'saved', 'waived', 'written_off'].map((kind) => of('_micros_total', { kind }))
    expect(money).toEqual([charged, direct, direct - charged, 0, 0])
    expect(Number(heard.trailers['agent-charged-micros'])).toBe(charged)
    const attempts = (provider: string, result: string) => sumOf(all, ATTEMPTS, { provider, model, result })
    expect([attempts(first, 'status_5xx'), attempts(second, 'answered')]).toEqual([1, 1])
    expect(sumOf(all, TOTAL, { provider: first, model })).toBe(0)
    expect([sumOf(all, ATTEMPTS, { model }), sumOf(all, TOTAL, { model })]).toEqual([2, 1])
  })

  test('§operations of keyed POSTs alone it is counted that they met their first try: another 409 is none', async () => {
    const { patch, get, post } = await scene().operator()
    const [filed] = (await get('/v2/operator/providers')).body.data
    const conflicts = async () =>
      sumOf(await scrapeOf(scene()), 'switchyard_idempotency_total', { outcome: 'conflict' })
    const before = await conflicts()
    const refused = [
      await patch(`/v2/operator/providers/${filed.id}`, { version: 1, region: 'eu' }),
      await post(`/v2/operator/providers/${filed.id}/drain`),
    ]
    expect(refused.map(({ status, body }) => [status, body.error.code])).toEqual(Array(2).fill([409, 'conflict']))
    expect((await conflicts()) - before).toBe(0)
  })

  test('§operations a call is counted once, by how it ended: failed, refused, broken off, left', async () => {
    const stage = await scene().stage({ key: LIMIT })
    const { model } = stage
    const ended = async (outcome: string) => sumOf(await scrapeOf(scene()), TOTAL, { model, outcome })
    stage.one.behave({ status: 500, body: 'oops' })
    expect((await stage.chat()).status).toBe(502)
    stage.one.behave({ status: 400, body: { error: { message: 'no', type: 'invalid_request_error' } } })
    expect((await stage.chat()).status).toBe(400)
    stage.one.behave({ cut: { after: 3, how: 'reset' } })
    expect((await stage.chat({ stream: true })).complete).toBe(true)
    const held = deferred()
    stage.one.behave({ pace: (event) => (event > 2 ? held.promise : undefined) })
    const leaving = stage.openChat({ stream: true })
    await leaving.says('data:')
    leaving.leave()
    await comesTrue(async () => (await ended('client_left')) === 1)
    held.resolve()
    stage.one.behave({})
    await stage.chat()
    const outcomes = ['failed', 'refused', 'upstream_failed', 'client_left', 'completed']
    expect(await Promise.all(outcomes.map(ended))).toEqual([1, 1, 1, 1, 1])
    const all = await scrapeOf(scene())
    expect(sumOf(all, TOTAL, { model })).toBe(5)
    const charged = sumOf(all, 'switchyard_generation_micros_total', { model, kind: 'charged' })
    expect(charged).toBe((await stage.audit()).spent)
    expect(charged).toBeGreaterThanOrEqual(USUAL_COST)
  })

  test('§operations slots, queue, holds and budgets near their end are told as they are at this moment', async () => {
    const stage = await scene().stage({ key: 10_000 })
    const { narrow: model } = stage
    const provider = model
    const answering = deferred()
    stage.one.behave({ wait: answering.promise })
    const first = stage.openChat({ model })
    await stage.one.request(1)
    const second = stage.openChat({ model })
    const told = async (name: string) => sumOf(await scrapeOf(scene()), name, { provider })
    await comesTrue(async () => (await told('switchyard_slots_waiting')) === 1)
    expect([await told('switchyard_slots'), await told('switchyard_slots_in_use')]).toEqual([1, 1])
    await scene().housekeep('count budgets')
    const during = await scrapeOf(scene())
    expect(sumOf(during, 'switchyard_held_micros')).toBe(holdFor(stage.bodyOf({ model })))
    expect(sumOf(during, 'switchyard_holds')).toBe(1)
    answering.resolve()
    await Promise.all([first.heard, second.heard])
    expect(await told('switchyard_generations_queued_total')).toBe(1)
    expect([await told('switchyard_slots_in_use'), await told('switchyard_slots_waiting')]).toEqual([0, 0])

    const near = async () => sumOf(await scrapeOf(scene()), 'switchyard_budgets_near_end', { of: 'key', used: '80' })
    await scene().housekeep('count budgets')
    const before = await near()
    await scene().stage({ key: 0 }) // nothing to come near to
    const poor = await scene().stage({ key: holdFor(stage.bodyOf()) })
    poor.one.behave({ usage: { input: 1, output: 900 } })
    expect((await poor.chat()).status).toBe(200)
    await scene().housekeep('count budgets')
    expect((await near()) - before).toBe(1)
  })

  test('§operations every expression of the dashboard and the alerts finds its metrics and labels in a scrape', async () => {
    const stage = await scene().stage({ key: LIMIT })
    await stage.chat({}, { keyed: 'a' })
    await stage.chat({}, { keyed: 'a' })
    const poor = await scene().stage({ key: 1 })
    expect((await poor.chat()).status).toBe(429)
    for (let n = 0; n < 5; n++) {
      stage.one.behave({ instead: 'reset' })
      await stage.chat({ model: stage.hasty })
    }
    for (const task of ['count budgets', 'sweep kept responses']) await scene().housekeep(task)
    scene().metrics.limitRefusals.inc({ layer: 'key', limit: 'requests' }) // another suite's matter
    scene().metrics.idempotency.inc({ outcome: 'conflict' }) // so is this
    scene().metrics.providerProbes.inc({ provider: 'away', outcome: 'not_there' }) // so is this

    const expressions = expressionsOf()
    expect(expressions.length).toBeGreaterThan(60)
    const all = await scrapeOf(scene())
    expect(expressions.flatMap((expression) => missingFor(expression, all, scene()))).toEqual([])
  })

  test('§operations planted: an expression with a metric, a label or a value that is not there is found out', async () => {
    const all = await scrapeOf(scene())
    const missing = (expression: string) => missingFor(expression, all, scene())
    expect(missing('sum(rate(switchyard_generations[5m]))')).toEqual(['switchyard_generations'])
    expect(missing('sum by (vendor) (switchyard_generations_total)')).toEqual(['switchyard_generations_total: vendor'])
    expect(missing('switchyard_generation_tokens_total{kind="in"}')).toEqual([
      'switchyard_generation_tokens_total: kind="in"',
    ])
    expect(() => missing('sum by (provider (switchyard_generations_total)')).toThrow('this is no PromQL')
  })
})

/** What an expression names and the scrape does not have. */
function missingFor(expression: string, all: readonly Series[], { metrics }: Scene): string[] {
  return selectedBy(expression).flatMap(({ metric, labels }) => {
    if (metric === 'up') return [] // Prometheus' own
    const found = all.filter(({ name }) => name === metric)
    const declared = OF_CALLS.test(metric) ? undefined : declaredLabels(metrics, metric)
    if (found.length === 0 && !declared) return [metric]
    return labels.flatMap(({ name, value }) => {
      if (name === 'instance' || name === 'job') return [] // Prometheus adds them
      const is_known = declared?.includes(name) || found.some((series) => name in series.labels)
      if (!is_known) return [`${metric}: ${name}`]
      const is_open = value === undefined || OPEN.includes(name) || found.length === 0
      return is_open || found.some((series) => series.labels[name] === value) ? [] : [`${metric}: ${name}="${value}"`]
    })
  })
}

const declaredLabels = ({ registry }: Scene['metrics'], name: string): string[] | undefined =>
  (registry.getSingleMetric(name) as unknown as { labelNames: string[] } | undefined)?.labelNames
