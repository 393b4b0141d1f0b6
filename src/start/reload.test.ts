// R83: what of the settings changes at once, and of what the log says that it needs a restart.
import { expect, test } from 'vitest'
import { bookPrice, withPrices } from '../models/price-book.ts'
import { traceSampling } from '../telemetry/trace-sampling.ts'
import type { TracingSettings } from '../telemetry/tracing-settings.ts'
import { type GatewaySettings, noGateway } from './gateway-settings.ts'
import { awaitingRestart, replaceSettings, settingsChanges } from './reload.ts'

const TRACING: TracingSettings = {
  ...{ url: 'http://collector.example:4318/v1/traces', headers: { authorization: 'secret-1' }, timeout_ms: 1_000 },
  ...{ sample_ratio: 1, parent_based: true, service_name: 'a', attributes: {}, propagate_to: [] },
  queue: { spans: 10, batch: 5, delay_ms: 100 },
}
const traced = (more: Partial<TracingSettings> = {}): GatewaySettings => ({
  ...noGateway(),
  tracing: { ...TRACING, ...more },
})

test('R83 which calls are traced changes at once, and is told', () => {
  const [before, after] = [traced(), traced({ sample_ratio: 0, propagate_to: ['a'] })]
  expect(settingsChanges(before, after)).toEqual(['tracing.sample_ratio: 1 → 0', 'tracing.propagate_to: [] → ["a"]'])
  expect(awaitingRestart(before, after)).toEqual([])
  const { isSampled } = traceSampling(before.tracing as TracingSettings)
  expect(isSampled(undefined)).toBe(true)
  replaceSettings(before, after)
  expect([isSampled(undefined), before.tracing?.propagate_to]).toEqual([false, ['a']])
  expect(settingsChanges(before, after)).toEqual([])
})

test.each([
  ['where they go', { url: 'http://other.example:4318/v1/traces' }, ['tracing.endpoint']],
  ['a secret', { headers: { authorization: 'secret-2' } }, ['tracing.headers']],
  ['a name, beside what does not', { service_name: 'b', sample_ratio: 0.5 }, ['tracing.service_name']],
])('R83 what needs a restart is named, and no secret with it: %s', (_what, more, named) => {
  const [before, after] = [traced(), traced(more)]
  expect(awaitingRestart(before, after)).toEqual(named)
  expect(JSON.stringify([awaitingRestart(before, after), settingsChanges(before, after)])).not.toContain('secret-')
  replaceSettings(before, after)
  expect(awaitingRestart(before, after)).toEqual(named) // it is still so, and said again
})

test('R83 a changed price and a second step that is required from now on are told, and nothing where nothing changed', () => {
  const before = noGateway()
  const dearer = bookPrice('gpt-4o-mini', { input: 9, cached: 9, write: 9, output: 9 })
  const row = { id: 'gpt-4o-mini', provider: 'openai', max_output_tokens: 16_384, source: 's', as_of: '2026-11-01' }
  const prices = withPrices([
    { ...row, price: dearer },
    { ...row, id: 'own-model', price: dearer },
  ])
  const after = {
    ...before,
    gateway: { ...before.gateway, prices },
    sign_in: { ...before.sign_in, second_factor_required: true },
  }
  expect(settingsChanges(before, after)).toEqual([
    "model of the price book 'gpt-4o-mini': price changed",
    "model of the price book 'own-model' is new",
    'sign_in.second_factor: "optional" → "required"',
  ])
  expect(settingsChanges(after, { ...after, gateway: { ...after.gateway, prices: new Map(prices) } })).toEqual([])
})

test('R83 so is that traces are turned on or off, and where contents lie', () => {
  expect(awaitingRestart(noGateway(), traced())).toEqual(['tracing'])
  expect(awaitingRestart(traced(), noGateway())).toEqual(['tracing'])
  expect(awaitingRestart(noGateway(), noGateway())).toEqual([])
  const s3 = { endpoint: 'https://s3.example', bucket: 'b', region: 'r', access_key_id: 'a', secret_access_key: 's' }
  const elsewhere = { ...noGateway(), artifacts: { max_mib: 7, s3 } } as GatewaySettings
  expect(awaitingRestart(noGateway(), elsewhere)).toEqual(['artifacts.s3'])
  expect(settingsChanges(noGateway(), elsewhere)).toEqual([expect.stringMatching(/^artifacts\.max_mib: \d+ → 7$/)])
})
