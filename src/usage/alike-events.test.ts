// §8.2.3: events that are added up as they come make the same roll-ups, in batches that are soon written.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { type Alike, type AlikeEvents, alikeEvents } from './alike-events.ts'
import type { UsageEvent } from './usage-event.ts'
import { placeOf } from './usage-rollup.ts'

const keys = Array.from({ length: 50 }, (_, n) => `key_${n}`)
const kinds = fc.array(
  fc.record({ key_id: fc.constantFrom(...keys), resolved_model: fc.constantFrom('a', 'b'), charged_micros: fc.nat(9) }),
  { maxLength: 900 },
)
const made = (some: readonly Partial<UsageEvent>[]) =>
  some.map((one, n) => usageEvent('prj_1', { ...one, trace_id: `trc_${n}` }))

function addedTo(alike: AlikeEvents, events: readonly UsageEvent[]): AlikeEvents {
  for (const event of events) alike.add(event, placeOf(event), NOON)
  return alike
}

const namesIn = (batch: readonly Alike[]) => batch.flatMap(({ trace_ids }) => trace_ids)

test('§8.2.3 events come in batches of few and of few kinds, and each once', () => {
  fc.assert(
    fc.property(kinds, (some) => {
      const events = made(some)
      const batches = addedTo(alikeEvents(), events).take()
      expect(batches.flatMap(namesIn).sort()).toEqual(events.map(({ trace_id }) => trace_id).sort())
      expect(batches.every((batch) => namesIn(batch).length > 0 && namesIn(batch).length <= 250)).toBe(true)
      expect(batches.every((batch) => batch.length <= 32)).toBe(true)
    }),
    { numRuns: 30, seed: 20_261_115 },
  )
})

test('§8.2.3 those of a kind stand together, with what they come to', () => {
  fc.assert(
    fc.property(kinds, (some) => {
      const events = new Map(made(some).map((event) => [event.trace_id, event]))
      for (const { sum, trace_ids } of addedTo(alikeEvents(), [...events.values()])
        .take()
        .flat()) {
        const alike = trace_ids.map((trace_id) => events.get(trace_id) as UsageEvent)
        expect(sum.events).toBe(alike.length)
        expect(sum.charged_micros).toBe(alike.reduce((micros, event) => micros + event.charged_micros, 0))
        expect(new Set(alike.map(({ key_id, resolved_model }) => `${key_id} ${resolved_model}`)).size).toBe(1)
      }
    }),
    { numRuns: 30, seed: 20_261_115 },
  )
})

test('§8.2.3 events of other five minutes are of another kind', () => {
  const alike = alikeEvents()
  const event = usageEvent('prj_1')
  for (const at of [NOON, NOON + 299_999, NOON + 300_000]) alike.add(event, placeOf(event), at)
  expect(alike.take().map((batch) => batch.map(({ sum }) => [sum.start_ms - NOON, sum.events]))).toEqual([
    [
      [0, 2],
      [300_000, 1],
    ],
  ])
})

test('§8.2.3 what is taken is gone, and so is everything where there is too much of it', () => {
  const room = { events: 300, kinds: 3 }
  const alike = addedTo(alikeEvents(room), made(Array.from({ length: 300 }, () => ({}))))
  expect(alike.count()).toBe(300)
  addedTo(alike, made([{}]))
  expect([alike.count(), alike.take().length, alike.count(), alike.take()]).toEqual([1, 1, 0, []])
  addedTo(alike, made(['key_1', 'key_2', 'key_3', 'key_3', 'key_1'].map((key_id) => ({ key_id }))))
  expect(alike.count()).toBe(5)
  addedTo(alike, made([{ key_id: 'key_4' }]))
  expect(alike.count()).toBe(1)
})
