import { expect, test } from 'vitest'
import type { Hints } from '../hints/hints.ts'
import { DEADLINE_MAX_MS, deadlineAt, hintsHonored, targetMet, targetMetSoFar } from './qos.ts'

const standard = { class: 'standard' } as const
const prefer = { preference: 'prefer' } as const

test('R44 a deadline counts from arrival, and never beyond what a timer can wait for', () => {
  expect(deadlineAt({ qos: { ...standard, deadline_ms: 500 } }, 1_000)).toBe(1_500)
  expect(deadlineAt({ qos: { ...standard, deadline_ms: 3e9 } }, 1_000)).toBe(1_000 + DEADLINE_MAX_MS)
  expect([deadlineAt(undefined, 1_000), deadlineAt({}, 1_000), deadlineAt({ qos: standard }, 1_000)]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('§10.2 a target is met up to the millisecond; without one there is nothing to say', () => {
  const hints: Hints = { qos: { ...standard, target_ttft_ms: 500 } }
  expect([targetMet(hints, 500), targetMet(hints, 501), targetMet({ qos: standard }, 1)]).toEqual([
    true,
    false,
    undefined,
  ])
})

test.each([
  ['no hints', undefined, undefined],
  ['none that say anything', {}, []],
  ['what is the default anyway', { qos: standard, reuse: prefer }, []],
  ['a class', { qos: { class: 'background' } }, ['qos']],
  ['a target', { qos: { ...standard, target_ttft_ms: 1 } }, ['qos']],
  ['a deadline', { qos: { ...standard, deadline_ms: 1 } }, ['qos']],
  ['a session that was nowhere before', { reuse: { ...prefer, session_id: 'ses_1' } }, []],
  ['no reuse', { reuse: { preference: 'avoid' } }, ['reuse']],
  ['careful retries', { safety: { retry_safety: 'idempotent_generation_only' } }, ['safety']],
  ['what is the client’s own to keep', { safety: { tool_side_effect_mode: 'external_commit_required' } }, []],
  [
    'all of them, in one order',
    {
      safety: { retry_safety: 'idempotent_generation_only' },
      reuse: { preference: 'avoid' },
      qos: { class: 'interactive' },
    },
    ['qos', 'reuse', 'safety'],
  ],
] as [string, Hints | undefined, string[] | undefined][])('§10.2 honored: %s', (_what, hints, sections) => {
  const nothing_known = { is_affine: false, known_tokens: 0, held_tokens: 0 }
  expect(hintsHonored(hints, hints?.reuse && nothing_known)).toEqual(sections)
})

test.each([
  ['nothing is known of the prompt', { known_tokens: 0, held_tokens: 0 }, false],
  ['the target holds all that is known', { known_tokens: 100, held_tokens: 100 }, true],
  ['the target holds half of it', { known_tokens: 100, held_tokens: 50 }, true],
  ['the target holds less', { known_tokens: 101, held_tokens: 50 }, false],
  ['another target has it', { known_tokens: 100, held_tokens: 0 }, false],
  ['the conversation was there last', { is_affine: true, known_tokens: 100, held_tokens: 0 }, true],
])('R84 reuse where %s', (_what, known, is_likely) => {
  const belief = { is_affine: false, ...known }
  for (const preference of ['prefer', 'require'] as const)
    expect(hintsHonored({ reuse: { preference } }, belief)).toEqual(is_likely ? ['reuse'] : [])
  expect(hintsHonored({ reuse: { preference: 'avoid' } }, belief)).toEqual(is_likely ? [] : ['reuse'])
})

test.each([
  ['no target', {}, { ttft_ms: null, answered_ms: 1 }, undefined],
  ['content in time', { target_ttft_ms: 500 }, { ttft_ms: 500, answered_ms: 400 }, true],
  ['content too late', { target_ttft_ms: 500 }, { ttft_ms: 501, answered_ms: 400 }, false],
  ['no content yet, and time left', { target_ttft_ms: 500 }, { ttft_ms: null, answered_ms: 500 }, 'unknown'],
  ['no content yet, and too late already', { target_ttft_ms: 500 }, { ttft_ms: null, answered_ms: 501 }, false],
])('R82 what is known of the target when headers leave: %s', (_what, qos, got, met) => {
  expect(targetMetSoFar({ qos: { ...standard, ...qos } }, got)).toBe(met)
})
