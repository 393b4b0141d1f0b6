// §11.2, §11.6, R23, R25: which header counts, what the triple is, what is kept.
import { expect, test } from 'vitest'
import { HOUR_MS, SECOND_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import {
  conflict,
  decodeResponse,
  digest,
  encodeResponse,
  idempotencyKey,
  mayKeep,
  RENEWAL_MS,
  RESERVATION_MS,
  RETENTION_MS,
  type Triple,
} from './idempotency.ts'

test.each([['a'], ['a-b_c.1'], ['~'.repeat(255)], ['"quoted,comma"']])('R25 %s is a key', (key) => {
  expect(idempotencyKey([key])).toBe(key)
})

test('R25 without the header the request is simply not keyed', () => {
  expect(idempotencyKey([])).toBeUndefined()
})

test.each([
  ['nothing', ['']],
  ['a blank', [' ']],
  ['a blank inside', ['a b']],
  ['256 characters', ['x'.repeat(256)]],
  ['a letter beyond ASCII', ['caf\u00e9']],
  ['a tab', ['a\tb']],
  ['two lines', ['a', 'b']],
  ['the same twice', ['a', 'a']],
])('T-17 %s is refused', (_case, values) => {
  expect(() => idempotencyKey(values)).toThrow(Refusal)
  expect(() => idempotencyKey(values)).toThrow("'Agent-Idempotency-Key' must be one value")
})

/** The parts of these triples are the same letters, split otherwise. */
const NEIGHBOURS: Triple[] = [
  { project_id: 'a', route: '/b', params: { id: 'c' }, key: 'd' },
  { project_id: 'a', route: '/b', params: { id: 'cd' }, key: '' },
  { project_id: 'a', route: '/b', params: {}, key: 'cd' },
  { project_id: 'a', route: '/bc', params: {}, key: 'd' },
  { project_id: 'a/b', route: '', params: { id: 'c' }, key: 'd' },
  { project_id: 'a', route: '/b', params: { id: 'c","d' }, key: 'd' },
  { project_id: 'a', route: '/b', params: { id: 'c', sub: 'd' }, key: 'd' },
  { project_id: 'a2', route: '/b', params: { id: 'c' }, key: 'd' },
  { project_id: 'a', route: '/b', params: { id: 'c2' }, key: 'd' },
  { project_id: 'a', route: '/b', params: { id: 'c' }, key: 'd2' },
]
const distinct = (hash: (triple: Triple) => string) => new Set(NEIGHBOURS.map(hash)).size === NEIGHBOURS.length

test('§11.2 another project, path or key is another triple, however the parts are cut', () => {
  expect(distinct(digest)).toBe(true)
})

test('§11.2 planted: joining the parts, or leaving the project out, is caught', () => {
  expect(distinct(({ project_id, route, params, key }) => project_id + route + Object.values(params) + key)).toBe(false)
  expect(distinct((triple) => digest({ ...triple, project_id: '' }))).toBe(false)
})

test('R20 the digest does not show the key', () => {
  const key = 'order-4711-payment'
  expect(digest({ project_id: 'prj_1', route: '/v2/api-keys', params: {}, key })).toMatch(/^[\w-]{43}$/)
})

test.each([
  [199, false],
  [200, true],
  [204, true],
  [299, true],
  [300, false],
  [400, false],
  [409, false],
  [500, false],
])('§11.6 a %d may be kept: %s', (status, kept) => {
  expect(mayKeep(status)).toBe(kept)
})

test.each([
  ['JSON', Buffer.from('{"a":0.30000000000000004,"b":1e+21,"c":"é🚀"}')],
  ['no bytes', Buffer.alloc(0)],
  ['newlines', Buffer.from('\n\ndata: x\n\n')],
  ['any bytes', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
])('§11.4 a response of %s comes back byte for byte', (_case, body) => {
  const response = { status: 201, headers: { 'content-type': 'text/event-stream', 'agent-trace-id': 'trc_1' }, body }
  expect(decodeResponse(Buffer.concat(encodeResponse(response)))).toEqual(response)
})

test('§11.7, §11.8 kept for 24 hours, held for 60 seconds, renewed well before that', () => {
  expect([RETENTION_MS, RESERVATION_MS]).toEqual([24 * HOUR_MS, 60 * SECOND_MS])
  expect(RENEWAL_MS * 2).toBeLessThan(RESERVATION_MS)
})

test('§7 the conflict says what is going on and what to do', () => {
  expect(conflict().body.error).toEqual({
    message: expect.stringMatching(/already in progress.*[Rr]etry after it completes/),
    type: 'idempotency_conflict',
  })
})
