// §2.1 last_used_at: noted at once, written later, never lost.
import { expect, test } from 'vitest'
import { heldClock, NOON } from '../../test/support/clock.ts'
import { rfc3339 } from '../core/clock.ts'
import { createKey } from './key.ts'
import { keyUse } from './key-use.ts'

const KEY = createKey('prj_1', { name: 'ci' }, NOON).api_key
type Use = { key_id: string; at: string }

function recorder() {
  const written: Use[][] = []
  let during = () => {}
  return {
    written,
    whileWriting: (work: () => void) => {
      during = work
    },
    async recordUses(uses: readonly Use[]) {
      written.push([...uses])
      during()
    },
  }
}

test('§2.1 a key that was not used shows no last_used_at', () => {
  expect(keyUse(recorder(), heldClock()).withLatest(KEY)).toEqual(KEY)
})

test('§2.1 a use is visible to the next read, before anything is written', () => {
  const [notes, clock] = [recorder(), heldClock()]
  const uses = keyUse(notes, clock)
  uses.note(KEY.id)
  expect(uses.withLatest(KEY).last_used_at).toBe(rfc3339(NOON))
  expect(notes.written).toEqual([])
})

test('§2.1 many uses are one write, of the last of them, and then forgotten', async () => {
  const [notes, clock] = [recorder(), heldClock()]
  const uses = keyUse(notes, clock)
  for (let n = 0; n < 100; n++) {
    uses.note(KEY.id)
    clock.advance(1)
  }
  await uses.flush()
  await uses.flush()
  expect(notes.written).toEqual([[{ key_id: KEY.id, at: rfc3339(NOON + 99) }]])
  expect(uses.withLatest(KEY)).toEqual(KEY)
})

test('§2.1 a use during the writing is written the next time', async () => {
  const [notes, clock] = [recorder(), heldClock()]
  const uses = keyUse(notes, clock)
  uses.note(KEY.id)
  notes.whileWriting(() => {
    clock.advance(7)
    uses.note(KEY.id)
    notes.whileWriting(() => {})
  })
  await uses.flush()
  expect(uses.withLatest(KEY).last_used_at).toBe(rfc3339(NOON + 7))
  await uses.flush()
  expect(notes.written.flat().map(({ at }) => at)).toEqual([rfc3339(NOON), rfc3339(NOON + 7)])
})

test('§2.1 a write that fails is tried again', async () => {
  const [notes, clock] = [recorder(), heldClock()]
  const uses = keyUse(notes, clock)
  uses.note(KEY.id)
  notes.whileWriting(() => {
    notes.whileWriting(() => {})
    throw new Error('away')
  })
  await expect(uses.flush()).rejects.toThrow('away')
  expect(uses.withLatest(KEY).last_used_at).toBe(rfc3339(NOON))
  await uses.flush()
  expect(notes.written).toHaveLength(2)
})

test('§2.1 a flush writes a few keys at a time, in one order on every replica', async () => {
  const notes = recorder()
  const uses = keyUse(notes, heldClock())
  for (let n = 39; n > 0; n--) uses.note(`key_${n}`)
  await uses.flush()
  expect(notes.written.map((part) => part.length)).toEqual([16, 16, 7])
  const ids = notes.written.flat().map(({ key_id }) => key_id)
  expect(ids).toEqual([...ids].sort())
})
