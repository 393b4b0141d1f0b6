// 0360: what probes outside of calls do to the breakers of a target.
import { expect, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { SECOND_MS } from '../core/clock.ts'
import { type Asker, type Breakers, breakers } from './breaker.ts'

const OPEN_MS = 30 * SECOND_MS
const asking = (project_id: string): Asker => ({ kind: 'chat', caller: { project_id } })
const B = asking('prj_b')
const C = asking('prj_c')
const stateFor = (asker: Asker, inner: Breakers) => (inner.leftAlone('a', asker) ? 'open' : 'closed')

test('0360 two probes in a row that find nobody leave it alone for everyone; one that finds somebody ends that', () => {
  const clock = heldClock()
  const turns: boolean[] = []
  const inner = breakers(clock, ({ is_open }) => turns.push(is_open))
  inner.probed('a', false)
  expect(stateFor(B, inner)).toBe('closed')
  inner.probed('a', true)
  inner.probed('a', false)
  expect(stateFor(B, inner)).toBe('closed')
  inner.probed('a', false)
  expect([stateFor(B, inner), stateFor(C, inner)]).toEqual(['open', 'open'])
  clock.advance(OPEN_MS - 1)
  inner.probed('a', false)
  clock.advance(OPEN_MS - 1)
  expect([stateFor(B, inner), inner.allows('a', B)]).toEqual(['open', false])
  inner.probed('a', true)
  expect([stateFor(B, inner), inner.allows('a', B), turns]).toEqual(['closed', true, [true, false]])
  expect(inner.count()).toEqual({ everyone: 0, project: 0 })
})

test('0360 what calls of several projects found is for the next call to find out, at once', () => {
  const inner = breakers(heldClock())
  for (const asker of [B, C, B, C, B]) inner.failed('a', asker, 'status 500')
  const fresh = asking('prj_d')
  expect(inner.allows('a', fresh)).toBe(false)
  inner.probed('a', true)
  expect([inner.allows('a', fresh), inner.allows('a', fresh)]).toEqual([true, false])
  inner.succeeded('a', fresh)
  expect(inner.count().everyone).toBe(0)
})

test('0360 what one project found of its own is not ended by a probe', () => {
  const inner = breakers(heldClock())
  for (let n = 0; n < 5; n++) inner.failed('a', B, 'status 500')
  inner.probed('a', true)
  expect([inner.allows('a', B), inner.allows('a', C)]).toEqual([false, true])
})
