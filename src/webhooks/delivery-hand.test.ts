// What a turn has in hand: one event of a subject at a time, in its order, and nothing that the store said too early.
import { expect, test } from 'vitest'
import type { Waiting } from '../notifications/queue-store.ts'
import { deliveryHand } from './delivery-hand.ts'

const one = (id: string, subject: string): Waiting => ({
  ...{ id, subject, event_id: `evt_${id}`, type: 'test', payload: '{}', attempts: 0, expires_at: 0 },
})
const [A1, A2, B1] = [one('a1', 'a'), one('a2', 'a'), one('b1', 'b')]
const finds = (...rows: Waiting[]) => Promise.resolve(rows)

test('§notifications the next of a subject goes when the one before it has ended', async () => {
  const hand = deliveryHand()
  await hand.fill(() => finds(A1, B1, A2))
  expect([hand.next(), hand.next(), hand.next()]).toEqual([A1, B1, undefined])
  hand.ended(A1, true)
  expect([hand.next(), hand.next(), hand.size()]).toEqual([A2, undefined, 2])
})

test('§notifications what is in hand already is not taken twice; what came behind it is', async () => {
  const hand = deliveryHand()
  await hand.fill(() => finds(A1))
  expect(hand.next()).toBe(A1)
  expect(await hand.fill(() => finds(A1, A2))).toBe(false)
  expect([hand.size(), hand.next()]).toEqual([2, undefined])
  hand.ended(A1, true)
  expect(hand.next()).toBe(A2)
})

test('§notifications after a failure nothing of the subject goes, until the store is asked again', async () => {
  const hand = deliveryHand()
  await hand.fill(() => finds(A1, A2))
  hand.ended(hand.next() as Waiting, false)
  expect([hand.next(), hand.size()]).toEqual([undefined, 0])
})

test('§notifications what ended while the store was asked is not sent again by what it said before', async () => {
  const hand = deliveryHand()
  await hand.fill(() => finds(A1, B1))
  const sent = hand.next() as Waiting
  const is_missing_some = await hand.fill(async () => {
    hand.ended(sent, true)
    return [A1, A2, B1] // as it was before
  })
  expect([is_missing_some, hand.next(), hand.next()]).toEqual([true, B1, undefined])
  expect(await hand.fill(() => finds(A2, B1))).toBe(false)
  expect(hand.next()).toBe(A2)
})
