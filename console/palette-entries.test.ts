// What the search box of everything finds, and in which order.
import { expect, test } from 'vitest'
import type { ApiKey } from './api/key-calls.ts'
import { entriesFor, type Known, secretEntries } from './palette-entries.ts'

const key = (id: string, name: string, status = 'active') => ({ id, name, status, masked: `svc_live_…${id}` }) as ApiKey
const KNOWN: Known = {
  pages: [{ group: 'Pages', label: 'Requests', to: '/requests' }],
  keys: [key('key_1', 'nightly'), key('key_2', 'old nightly', 'revoked'), key('key_3', 'fortnightly')],
  aliases: [{ name: 'night/long' }] as unknown as Known['aliases'],
  clusters: [{ id: 'byc_1', name: 'atlas', status: 'down' }] as unknown as Known['clusters'],
  people: [{ id: 'usr_1', email: 'ada@example.com', role: 'owner' }] as unknown as Known['people'],
  may_manage: true,
}
const found = (text: string, more: Partial<Known> = {}) =>
  entriesFor(text, { ...KNOWN, ...more }).map(({ label, to }) => `${label} ${to}`)

test.each([
  [
    'a name: those that begin with it first',
    'night',
    ['nightly /keys/key_1', 'old nightly /keys/key_2', 'fortnightly /keys/key_3', 'night/long /routing/night%2Flong'],
  ],
  ['an id', 'key_3', ['fortnightly /keys/key_3']],
  ['a request in a line of a log', 'x-request-id: req_abc', ['Open req_abc /traces/req_abc']],
  ['a response', 'resp_1', ['Open resp_1 /traces/resp_1']],
  ['a cluster', 'ATLAS', ['atlas /clusters/byc_1']],
  ['a person', 'ada@', ['ada@example.com /settings/members']],
  ['a page', 'requ', ['Requests /requests']],
  ['a deed: only with keys that work', 'revoke old', []],
])('§console %s', (_case, text, expected) => {
  expect(found(text)).toEqual(expected)
})

test('§console a deed and a name, in the words that people use', () => {
  expect(found('revoke nightly')[0]).toBe('Revoke nightly /keys/key_1?do=Revoke')
  expect(found('raise the limit of nightly')[0]).toBe('Raise the limit of nightly /keys/key_1?do=Spending%20limit')
  expect(found('rotate fort')[0]).toBe('Rotate fortnightly /keys/key_3?do=Rotate')
})

test('§console who may not manage keys is offered no deed', () => {
  expect(found('revoke nightly', { may_manage: false })).toEqual([])
  expect(found('', { may_manage: false }).join()).not.toContain('Create')
  expect(secretEntries(key('key_1', 'nightly'), false).map(({ label }) => label)).toEqual([
    'Open nightly',
    'Requests of nightly',
  ])
})
