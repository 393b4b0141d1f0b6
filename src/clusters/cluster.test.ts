// §2.3, §4.5, R8, R12: what may be registered.
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { Refusal } from '../core/refusal.ts'
import { NewCluster, registerCluster } from './cluster.ts'

const NOW = Date.UTC(2026, 10, 15, 12)

/** As the route does it: first the shape, then the rule. */
function outcome(more: Record<string, unknown>): string {
  const asked = { name: 'atlas', region: 'eu-west-1', ...more }
  if (!Value.Check(NewCluster, asked)) return 'refused'
  try {
    registerCluster('prj_1', asked, NOW)
    return 'accepted'
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'invalid_request') return 'refused'
    throw error
  }
}

test('§4.5 what was not said has its default', () => {
  expect(registerCluster('prj_1', { name: ' atlas ', region: ' eu ' }, NOW)).toEqual({
    id: expect.stringMatching(/^byc_/),
    object: 'byoc_cluster',
    project_id: 'prj_1',
    name: 'atlas',
    region: 'eu',
    status: 'registering',
    runtime: 'vllm',
    kv_cache: 'lmcache',
    orchestrator: 'llm-d',
    endpoint: null,
    autoscaling: { min_replicas: 1, max_replicas: 4, target_ttft_ms: 500 },
    created_at: '2026-11-15T12:00:00.000Z',
    updated_at: '2026-11-15T12:00:00.000Z',
    last_heartbeat_at: null,
  })
})

const scaling = (min_replicas: unknown, max_replicas: unknown, target_ttft_ms: unknown = 500) => ({
  autoscaling: { min_replicas, max_replicas, target_ttft_ms },
})

test.each([
  ['min above max', scaling(5, 4), 'refused'],
  ['max of zero', scaling(0, 0), 'refused'],
  ['a missing field', { autoscaling: { min_replicas: 1, max_replicas: 2 } }, 'refused'],
  ['a fraction', scaling(1.5, 4), 'refused'],
  ['a number too large to count to', scaling(1, 1e20), 'refused'],
  ['a text', scaling('1', 4), 'refused'],
  ['null for a field', scaling(1, null), 'refused'],
  ['null for the whole', { autoscaling: null }, 'refused'],
  ['a negative minimum', scaling(-1, 4), 'refused'],
  ['no time to the first token', scaling(1, 4, 0), 'refused'],
  ['a negative time', scaling(1, 4, -5), 'refused'],
  ['none to one', scaling(0, 1), 'accepted'],
  ['equal bounds', scaling(4, 4), 'accepted'],
])('T-75 autoscaling with %s: %j is %s', (_case, more, expected) => {
  expect(outcome(more)).toBe(expected)
})

test.each([
  ['file:///etc/passwd', 'refused'],
  ['gopher://host/', 'refused'],
  ['javascript:alert(1)', 'refused'],
  ['unix:/run/socket', 'refused'],
  ['ftp://host/', 'refused'],
  ['/v1/chat', 'refused'],
  ['host:8000', 'refused'],
  ['//host/v1', 'refused'],
  ['http:host', 'refused'],
  ['http:///host', 'refused'],
  ['https://', 'refused'],
  ['http://user:pass@host/', 'refused'],
  ['http://user@host/', 'refused'],
  ['http://@host/', 'refused'],
  ['http://:@host', 'refused'],
  ['http://user@host', 'refused'],
  ['https://host/#fragment', 'refused'],
  ['https://host/#', 'refused'],
  ['http://host:0/', 'refused'],
  ['http://host:99999/', 'refused'],
  ['http://ho st/', 'refused'],
  ['http://host/a\nb', 'refused'],
  ['http://host/ ', 'refused'],
  [' http://host/', 'refused'],
  ['http://host/\0', 'refused'],
  [`http://host/${'x'.repeat(10_240)}`, 'refused'],
  ['', 'refused'],
  [7, 'refused'],
  [null, 'accepted'],
  ['https://10.0.0.7:8443/v1', 'accepted'],
  ['http://127.0.0.1:9', 'accepted'],
  ['http://[::1]:8000/v1', 'accepted'],
  ['HTTPS://Atlas.Example.com/v1', 'accepted'],
  ['https://host/v1?tenant=a@b', 'accepted'],
  ['https://host?tenant=a@b', 'accepted'],
  ['https://host/a%20b/@c', 'accepted'],
  [`http://host/${'x'.repeat(2_048 - 12)}`, 'accepted'],
])('T-80 endpoint %j is %s', (endpoint, expected) => {
  expect(outcome({ endpoint })).toBe(expected)
})

test('R12 an accepted endpoint is kept as it was written', () => {
  const endpoint = 'HTTPS://Atlas.Example.com:443/v1/../v2?x=%41'
  expect(registerCluster('prj_1', { name: 'a', region: 'b', endpoint }, NOW).endpoint).toBe(endpoint)
})

test.each(['runtime', 'kv_cache', 'orchestrator'])('R8 %s is any text of 1 to 128 characters, as sent', (lane) => {
  expect(outcome({ [lane]: ' x ' })).toBe('accepted')
  expect(outcome({ [lane]: 'x'.repeat(128) })).toBe('accepted')
  expect(outcome({ [lane]: 'x'.repeat(129) })).toBe('refused')
  expect(outcome({ [lane]: '' })).toBe('refused')
  expect(outcome({ [lane]: 'a\0b' })).toBe('refused')
  expect(outcome({ [lane]: null })).toBe('refused')
})

test.each(['name', 'region'])('R8 %s has 1 to 256 characters, blanks around them not counted', (field) => {
  expect(outcome({ [field]: 'x'.repeat(256) })).toBe('accepted')
  expect(outcome({ [field]: '🚀'.repeat(256) })).toBe('accepted')
  expect(outcome({ [field]: 'x'.repeat(257) })).toBe('refused')
  expect(outcome({ [field]: ' \u200b ' })).toBe('refused')
  expect(outcome({ [field]: 'a\ud800' })).toBe('refused')
})

// Writing `...asked` instead of naming the fields would let a body choose its own project.
test('R9 nothing that the contract does not name is taken over', () => {
  const asked = { name: 'a', region: 'b', project_id: 'prj_2', id: 'byc_x', status: 'active', extra: 1 }
  const cluster = registerCluster('prj_1', asked, NOW)
  expect([cluster.project_id, cluster.status, cluster.id === 'byc_x', 'extra' in cluster]).toEqual([
    'prj_1',
    'registering',
    false,
    false,
  ])
})
