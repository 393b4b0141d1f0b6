// What is to be erased: ids find their lists, and what was planned is told in words.
import { expect, test } from 'vitest'
import { filterWords, matchedWords, NO_PURGE, purgeOf } from './purge-draft.ts'

test('0369 ids go to the list that their beginning names; one of no kind is refused before anything is sent', () => {
  const draft = { ...NO_PURGE, ids: 'ses_1, trc_2\nses_3' }
  expect(purgeOf(draft)).toEqual({ filter: { session_ids: ['ses_1', 'ses_3'], trace_ids: ['trc_2'] } })
  expect(() => purgeOf({ ...draft, ids: 'key_1' })).toThrow('key_1 does not')
})

test('0369 everything needs its confirmation, a stretch of time only what was typed', () => {
  expect(purgeOf({ ...NO_PURGE, what: 'everything', confirm: 'Atlas', key_id: 'key_1' })).toEqual({
    filter: { everything: true },
    confirm: 'Atlas',
  })
  expect(purgeOf({ ...NO_PURGE, what: 'range', key_id: ' key_1 ', to: '2026-11-17T14:05' })).toEqual({
    filter: { key_id: 'key_1', to: '2026-11-17T14:05:00.000Z' },
  })
})

test('0369 in words', () => {
  expect(filterWords({ session_ids: ['ses_1', 'ses_2'], trace_ids: ['trc_1'] })).toBe('2 sessions, trc_1')
  expect(filterWords({ key_id: 'key_1', from: '2026-11-17T00:00:00Z' })).toBe(
    'of key_1, from Nov 17, 2026, 00:00:00 UTC',
  )
  const kind = (kind: string, matched: number | null) => ({ kind, matched, erased: 0, remaining: matched })
  expect(matchedWords({ kinds: [kind('sessions', 1_200), kind('kept_answers', 3), kind('traces', 0)] })).toBe(
    '1,200 sessions, 3 kept answers',
  )
  expect(matchedWords({ kinds: [kind('traces', 1), kind('prefix_memory', 1)] })).toBe(
    '1 trace, what is remembered of prompts',
  )
  expect(matchedWords({ kinds: [kind('sessions', null)] })).toBeUndefined()
  expect(matchedWords({ kinds: [kind('sessions', 0)] })).toBe('nothing')
})
