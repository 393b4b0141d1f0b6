// §9.4: what an alias may be called, what a release may point at, and how one of its targets is picked.
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { Refusal } from '../core/refusal.ts'
import { foundAlias, NewAlias, pickTarget } from './alias.ts'

const NOW = Date.UTC(2026, 10, 15, 12)
const TARGET = { provider: 'openai', model: 'gpt-4o' }

/** As the route does it: first the shape, then the rule. */
function outcome(asked: unknown): string {
  if (!Value.Check(NewAlias, asked)) return 'refused'
  try {
    foundAlias('prj_1', asked, NOW)
    return 'accepted'
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'invalid_request') return 'refused'
    throw error
  }
}

test('§9.4 an alias and its first release come together', () => {
  const { alias, release } = foundAlias('prj_1', { name: 'fast/chat', targets: [TARGET] }, NOW)
  const at = '2026-11-15T12:00:00.000Z'
  expect(alias).toEqual({
    id: expect.stringMatching(/^als_/),
    object: 'alias',
    project_id: 'prj_1',
    name: 'fast/chat',
    current_release_id: release.id,
    created_at: at,
    updated_at: at,
  })
  expect(release).toEqual({
    id: expect.stringMatching(/^alr_/),
    object: 'alias_release',
    project_id: 'prj_1',
    alias_id: alias.id,
    alias_name: 'fast/chat',
    version: 1,
    targets: [{ ...TARGET, weight: 1 }],
    created_at: at,
  })
})

test.each([
  ['fast', 'accepted'],
  ['team/fast-chat_v1.2', 'accepted'],
  ['-x', 'accepted'],
  ['x'.repeat(64), 'accepted'],
  ['x'.repeat(65), 'refused'],
  ['', 'refused'],
  ['Fast', 'refused'],
  ['fast chat', 'refused'],
  ['fast\n', 'refused'],
  ['fäst', 'refused'],
  ['fast%2fchat', 'refused'],
  ['.', 'refused'],
  ['..', 'refused'],
  ['/', 'refused'],
  [7, 'refused'],
])('§9.4 the name %j is %s', (name, expected) => {
  expect(outcome({ name, targets: [TARGET] })).toBe(expected)
})

const weighted = (...weights: unknown[]) => weights.map((weight) => ({ ...TARGET, weight }))

test.each([
  ['none', 'refused', []],
  ['32 of them', 'accepted', Array(32).fill(TARGET)],
  ['33 of them', 'refused', Array(33).fill(TARGET)],
  ['no destination', 'refused', [{ model: 'm' }]],
  ['two destinations', 'refused', [{ provider: 'a', cluster_id: 'byc_1', model: 'm' }]],
  ['all three', 'refused', [{ provider: 'a', cluster_id: 'byc_1', credential_id: 'pcr_1', model: 'm' }]],
  ['a cluster', 'accepted', [{ cluster_id: 'byc_1', model: 'm' }]],
  ['a credential', 'accepted', [{ credential_id: 'pcr_1', model: 'm' }]],
  ['a cluster with a NUL', 'refused', [{ cluster_id: 'byc_\0', model: 'm' }]],
  ['no model', 'refused', [{ provider: 'a' }]],
  ['a blank model', 'refused', [{ provider: 'a', model: ' ' }]],
  ['a blank provider', 'refused', [{ provider: ' ', model: 'm' }]],
  ['null for a provider', 'refused', [{ provider: null, cluster_id: 'byc_1', model: 'm' }]],
  ['weights 0 and 1000', 'accepted', weighted(0, 1000)],
  ['only weights of 0', 'refused', weighted(0, 0)],
  ['a weight of 1001', 'refused', weighted(1001)],
  ['a negative weight', 'refused', weighted(-1, 5)],
  ['half a weight', 'refused', weighted(0.5)],
  ['a weight as text', 'refused', weighted('1')],
])('§9.4 targets, %s: %s', (_case, expected, targets) => {
  expect(outcome({ name: 'fast', targets })).toBe(expected)
})

test('R9 nothing that a target does not name is taken over', () => {
  const asked = {
    name: 'a',
    targets: [{ ...TARGET, weight: 2, region: 'eu', id: 'x' }],
    project_id: 'prj_2',
    id: 'als_x',
  }
  const { alias, release } = foundAlias('prj_1', asked, NOW)
  expect([alias.project_id, alias.id === 'als_x', release.targets]).toEqual([
    'prj_1',
    false,
    [{ ...TARGET, weight: 2 }],
  ])
})

const among = (...weights: number[]) => weights.map((weight, at) => ({ name: `t${at}`, weight }))

test('§9.4 the same seed picks the same target', () => {
  const targets = among(1, 2, 3)
  for (let n = 0; n < 100; n++) expect(pickTarget(targets, `trc_${n}`)).toBe(pickTarget(targets, `trc_${n}`))
  // Written down, so that a later version cannot route an old trace elsewhere without this test being changed.
  const picked = Array.from({ length: 8 }, (_, n) => pickTarget(targets, `trc_${n}`)?.name)
  expect(picked).toEqual(['t2', 't1', 't0', 't2', 't1', 't1', 't1', 't2'])
})

test('§9.4 over many seeds, targets are picked by weight, and one of weight 0 never', () => {
  const counts = new Map<string, number>()
  const targets = among(0, 1, 3, 0)
  const N = 20_000
  for (let n = 0; n < N; n++) {
    const name = pickTarget(targets, `trc_${n}`)?.name ?? 'none'
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  expect([...counts.keys()].sort()).toEqual(['t1', 't2'])
  expect((counts.get('t2') ?? 0) / N).toBeCloseTo(0.75, 1.5)
})

test('§9.4 where nothing has a weight, nothing is picked', () => {
  expect(pickTarget(among(0, 0), 'trc_1')).toBeUndefined()
  expect(pickTarget([], 'trc_1')).toBeUndefined()
})
