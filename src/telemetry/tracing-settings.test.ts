// Where traces go and which are made: the standard variables go before the file, and without an address there are none.
import { readFileSync } from 'node:fs'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { expect, test } from 'vitest'
import { readConfig } from '../start/config.ts'
import { parseConfig } from '../start/config-file.ts'
import { gatewaySettings } from '../start/gateway-settings.ts'
import { SPAN } from './span-names.ts'
import { tracingSettings } from './tracing-settings.ts'

const settingsOf = (env: Record<string, string>, file: object = {}) =>
  tracingSettings(readConfig(env).otel, parseConfig(JSON.stringify(file), 'switchyard.yaml', {}).tracing)

test('§operations nobody said where traces go: there are none', () => {
  expect(settingsOf({})).toBeUndefined()
  expect(settingsOf({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' })).toBeUndefined()
  expect(gatewaySettings(readConfig({})).tracing).toBeUndefined()
})

test('§operations an address alone is enough, by the file or by a variable', () => {
  const usual = {
    ...{ headers: {}, timeout_ms: 10_000, sample_ratio: 1, parent_based: true, service_name: 'switchyard' },
    ...{ attributes: {}, queue: { spans: 2_048, batch: 512, delay_ms: 5_000 }, propagate_to: [] },
  }
  expect(settingsOf({}, { tracing: { endpoint: 'http://c:4318/' } })).toEqual({
    url: 'http://c:4318/v1/traces',
    ...usual,
  })
  expect(settingsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' })?.url).toBe('http://c:4318/v1/traces')
  expect(settingsOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/t' })?.url).toBe('https://c/t')
})

test('§operations the variables go before the file', () => {
  const tracing = {
    ...{ endpoint: 'http://file:4318', headers: { a: 'file' }, sample_ratio: 0.5, parent_based: true },
    ...{ service_name: 'file', propagate_to: ['vllm'] },
  }
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://env:4318',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc, x-team=search',
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.01',
    OTEL_SERVICE_NAME: 'env',
    OTEL_RESOURCE_ATTRIBUTES: 'team=search,service.name=ignored',
    OTEL_BSP_MAX_QUEUE_SIZE: '7',
  }
  expect(settingsOf(env, { tracing })).toMatchObject({
    ...{ url: 'http://env:4318/v1/traces', headers: { authorization: 'Bearer abc', 'x-team': 'search' } },
    ...{ sample_ratio: 0.01, parent_based: false, service_name: 'env', propagate_to: ['vllm'] },
    ...{ attributes: { team: 'search' }, queue: { spans: 7 } },
  })
  expect(settingsOf({}, { tracing })).toMatchObject({ sample_ratio: 0.5, headers: { a: 'file' }, service_name: 'file' })
})

test.each([
  ['always_on', 1, false],
  ['always_off', 0, false],
  ['parentbased_always_on', 1, true],
  ['parentbased_always_off', 0, true],
  ['parentbased_traceidratio', 0.25, true],
])('§operations OTEL_TRACES_SAMPLER=%s', (sampler, sample_ratio, parent_based) => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: '0.25' }
  expect(settingsOf(env)).toMatchObject({ sample_ratio, parent_based })
})

test.each([{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }])('§operations %o turns them off', (env) => {
  expect(settingsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', ...env })).toBeUndefined()
})

test('§settings a section of the file that is wrong is told by its line and field', () => {
  const told = (tracing: object) => () => parseConfig(JSON.stringify({ tracing }), 'switchyard.yaml', {})
  expect(told({ endpoint: 'ftp://c' })).toThrow("'tracing.endpoint' must be an http or https address")
  expect(told({ sample_ratio: 2 })).toThrow('tracing.sample_ratio')
  expect(told({ endpint: 'http://c' })).toThrow('tracing.endpint')
})

test('§operations the names of spans are those of the conventions', () => {
  const known = Object.entries(conventions)
    .filter(([name]) => name.startsWith('ATTR_'))
    .map(([, value]) => value)
  expect(Object.values(SPAN).filter((name) => !known.includes(name))).toEqual([])
})

test('§operations the conventions of OPERATIONS are those that spans have', () => {
  const told = readFileSync('docs/OPERATIONS.md', 'utf8')
  expect(Object.values(SPAN).filter((name) => !told.includes(`\`${name}\``))).toEqual([])
})
