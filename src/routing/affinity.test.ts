import { expect, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { MINUTE_MS } from '../core/clock.ts'
import { affinity } from './affinity.ts'

test('§1 the last target of a conversation, within its project', () => {
  const { remember, targetOf } = affinity(heldClock())
  remember('prj_1', 'a', 'cluster:1')
  remember('prj_1', 'a', 'cluster:2')
  remember('prj_2', 'a', 'cluster:3')
  expect([targetOf('prj_1', 'a'), targetOf('prj_2', 'a'), targetOf('prj_1', 'b')]).toEqual([
    'cluster:2',
    'cluster:3',
    undefined,
  ])
})

test('§1 forgotten after ten idle minutes, counted from its last turn', () => {
  const clock = heldClock()
  const { remember, targetOf } = affinity(clock)
  remember('prj_1', 'a', 'cluster:1')
  clock.advance(10 * MINUTE_MS - 1)
  expect(targetOf('prj_1', 'a')).toBe('cluster:1')
  remember('prj_1', 'a', 'cluster:1')
  clock.advance(10 * MINUTE_MS - 1)
  expect(targetOf('prj_1', 'a')).toBe('cluster:1')
  clock.advance(1)
  expect(targetOf('prj_1', 'a')).toBeUndefined()
})

test('§1 no session, nothing to remember', () => {
  const { remember, targetOf } = affinity(heldClock())
  remember('prj_1', undefined, 'cluster:1')
  expect(targetOf('prj_1', undefined)).toBeUndefined()
})

test('§1 bounded: the conversation that was quiet for longest goes first', () => {
  const { remember, targetOf } = affinity(heldClock())
  for (let n = 0; n < 100_000; n++) remember('prj_1', String(n), 'cluster:1')
  remember('prj_1', '0', 'cluster:1')
  remember('prj_1', 'new', 'cluster:1')
  expect([targetOf('prj_1', '0'), targetOf('prj_1', '1'), targetOf('prj_1', 'new')]).toEqual([
    'cluster:1',
    undefined,
    'cluster:1',
  ])
})
