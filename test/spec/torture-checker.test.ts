// The judge of the torture runs, judged: each kind of violation is found, and what is right is left alone. A checker
// that misses one would let every run pass.
import { describe, expect, test } from 'vitest'
import { type CheckName, check, type History, type Operation, type Resource, type Verdict } from '../torture/checker.ts'
import { pieceSearch } from '../torture/piece-search.ts'

const PATH = '/v2/byoc/clusters'
const atlas: Resource = { path: PATH, id: 'byc_1', name: 'atlas', fields_hash: 'f1' }

const late = (invoked_ms: number) => ({ invoked_ms, settled_ms: invoked_ms + 5 })
const sent = (change: Partial<Operation>): Operation => ({
  ...{ path: PATH, key: 'k', name: 'atlas', invoked_ms: 0, settled_ms: 5, outcome: 'unknown' },
  ...change,
})
const ok = (change: Partial<Operation> = {}) =>
  sent({ outcome: 'ok', status: 200, replayed: false, answer_hash: 'a1', resource: atlas, ...change })
const replay = (change: Partial<Operation> = {}) => ok({ ...late(10), replayed: true, ...change })
const refused = (status: number, change: Partial<Operation> = {}) => sent({ outcome: 'fail', status, ...change })
const cutOff = (change: Partial<Operation> = {}) => sent(change)

const names = (verdict: Verdict) =>
  Object.entries(verdict).flatMap(([name, found]) => found.map(() => name as CheckName))

describe('§11 histories that are right', () => {
  const right: [string, History][] = [
    ['executed once, replayed once', { operations: [ok(), replay()], stored: [atlas] }],
    ['cut off after the effect', { operations: [cutOff(), replay()], stored: [atlas] }],
    ['cut off before the effect', { operations: [cutOff(), ok(late(10))], stored: [atlas] }],
    ['a 409 while another executes', { operations: [ok(), refused(409)], stored: [atlas] }],
    [
      'a 409 soon after its client left',
      { operations: [cutOff(), refused(409, late(900)), replay(late(950))], stored: [atlas] },
    ],
    [
      'the same key on another path',
      {
        operations: [
          ok(),
          ok({ path: '/v2/api-keys', resource: { ...atlas, path: '/v2/api-keys' }, answer_hash: 'a2' }),
        ],
        stored: [atlas, { ...atlas, path: '/v2/api-keys' }],
      },
    ],
  ]
  test.each(right)('%s', (_case, history) => {
    expect(names(check(history))).toEqual([])
  })
})

describe('§11 histories that are wrong', () => {
  const wrong: [string, History, CheckName[]][] = [
    ['acknowledged, but not stored', { operations: [ok()], stored: [] }, ['lost']],
    ['stored otherwise than acknowledged', { operations: [ok()], stored: [{ ...atlas, fields_hash: 'f2' }] }, ['lost']],
    ['stored under another id', { operations: [ok()], stored: [{ ...atlas, id: 'byc_2' }] }, ['lost']],
    ['two effects', { operations: [ok()], stored: [atlas, { ...atlas, id: 'byc_2' }] }, ['doubled']],
    [
      'two effects, none acknowledged',
      { operations: [cutOff(), cutOff()], stored: [atlas, { ...atlas, id: 'byc_2' }] },
      ['doubled', 'unanswered'],
    ],
    ['a replay of other bytes', { operations: [ok(), replay({ answer_hash: 'a2' })], stored: [atlas] }, ['differing']],
    ['executed twice by its own word', { operations: [ok(), ok(late(10))], stored: [atlas] }, ['twice_first']],
    ['a 500', { operations: [refused(500), replay()], stored: [atlas] }, ['server_errors']],
    ['a 401', { operations: [refused(401), replay()], stored: [atlas] }, ['unexpected']],
    [
      'a 409 long after its client left',
      { operations: [cutOff(), refused(409, late(5_100)), replay(late(5_200))], stored: [atlas] },
      ['stuck'],
    ],
    ['a 409 after the answer', { operations: [ok(), refused(409, late(6))], stored: [atlas] }, ['stuck']],
    ['a 409 with nobody else about', { operations: [refused(409)], stored: [] }, ['stuck', 'unanswered']],
    ['no 2xx ever', { operations: [cutOff(), cutOff()], stored: [] }, ['unanswered']],
    ['an effect that nobody asked for', { operations: [], stored: [atlas] }, ['strangers']],
  ]
  test.each(wrong)('%s', (_case, history, expected) => {
    expect(names(check(history)).sort()).toEqual([...expected].sort())
  })

  test('one violation does not hide another', () => {
    const other = { ...atlas, name: 'other', id: 'byc_9' }
    const operations = [ok(), ok({ key: 'l', name: 'other', resource: other, answer_hash: 'a9' })]
    expect(names(check({ operations, stored: [atlas, { ...atlas, id: 'byc_2' }] }))).toEqual(['lost', 'doubled'])
  })
})

describe('R20 the search for pieces of secrets', () => {
  const secret = 'abcdefghijklmnopqrstuvwxyz'
  const search = pieceSearch([secret])

  test('every piece is found wherever it lies', () => {
    for (let start = 0; start + 16 <= secret.length; start++) {
      const piece = secret.slice(start, start + 16)
      for (const before of [0, 1, 15, 16, 17, 1_000]) {
        const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(piece), Buffer.from([255, 0, 200])])
        expect(search.find(bytes)).toEqual([{ piece, at: before }])
      }
    }
  })

  test('a whole secret is found piece by piece, also right after another', () => {
    expect(search.find(Buffer.from(secret + secret)).length).toBe(2 * (secret.length - 15))
  })

  test('fifteen characters are not a piece, nor is anything else', () => {
    expect(search.find(Buffer.from(`${secret.slice(0, 15)} ${secret.slice(11)} ${secret.toUpperCase()}`))).toEqual([])
    expect(search.find(Buffer.alloc(0))).toEqual([])
  })

  test('a secret too short to have a piece is refused', () => {
    expect(() => pieceSearch(['short'])).toThrow('no piece')
  })
})
