import { expect, test } from 'vitest'
import type { Hints } from '../hints/hints.ts'
import { DEADLINE_MAX_MS, deadlineAt, hintsHonored, targetMet } from './qos.ts'

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
  ['a session', { reuse: { ...prefer, session_id: 'ses_1' } }, ['reuse']],
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
  expect(hintsHonored(hints)).toEqual(sections)
})
