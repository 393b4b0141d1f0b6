// §9.4: shares by weight, and what moves from one release to another.
import { expect, test } from 'vitest'
import { movesBetween, placeKind, placeName, sharesOf } from './target-shares.ts'

const openai = { provider: 'openai', model: 'gpt-4o', weight: 3 }
const atlas = { cluster_id: 'byc_1', model: 'llama', weight: 1 }

test('§9.4 shares are weights over their sum, and a release without any weight sends nothing', () => {
  expect(sharesOf([openai, atlas]).map(({ share }) => share)).toEqual([0.75, 0.25])
  expect(sharesOf([{ ...openai, weight: 0 }]).map(({ share }) => share)).toEqual([0])
})

test('§9.4 what moves: who gains comes first, who is left out goes to 0', () => {
  const moves = movesBetween(
    [openai, atlas],
    [
      { ...atlas, weight: 10 },
      { provider: 'groq', model: 'llama', weight: 10 },
    ],
  )
  expect(moves.map(({ target, before, after }) => [target.provider ?? target.cluster_id, before, after])).toEqual([
    ['groq', 0, 0.5],
    ['byc_1', 0.25, 0.5],
    ['openai', 0.75, 0],
  ])
})

test('§9.4 the same place twice counts once, and another model at the same provider is another place', () => {
  expect(movesBetween([openai, openai], [openai])).toEqual([{ target: openai, before: 1, after: 1 }])
  expect(movesBetween([openai], [{ ...openai, model: 'gpt-5' }])).toHaveLength(2)
})

test('§9.4 a cluster has its name, or its id once it is gone', () => {
  const known = { providers: [], credentials: [], clusters: [{ id: 'byc_1', name: 'atlas' }] } as never
  expect(placeName(atlas, known)).toBe('atlas')
  expect(placeName({ ...atlas, cluster_id: 'byc_2' }, known)).toBe('byc_2')
  expect([placeKind(atlas), placeKind(openai)]).toEqual(['cluster', 'provider'])
})
