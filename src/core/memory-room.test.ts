import { expect, test } from 'vitest'
import { callsRoom, expansionsRoom, HeldBytes, memoryRoom, UNCOUNTED_BYTES } from './memory-room.ts'

const MIB = 2 ** 20

test.each([
  ['a container of 1 GiB', 1_024, 256, 128],
  ['a worker of four in 4 GiB', 1_024, 256, 128],
  ['a machine of 24 GiB', 24_576, 2_048, 512],
  ['next to nothing', 1, 64, 128],
])('R78 how much calls and prompts may hold: %s', (_what, memory_mib, calls_mib, expansions_mib) => {
  expect(callsRoom(memory_mib * MIB).bytes / MIB).toBe(calls_mib)
  expect(expansionsRoom(memory_mib * MIB).bytes / MIB).toBe(expansions_mib)
})

test('R78 however many projects hold as much as they may, another finds room', () => {
  const room = memoryRoom({ bytes: 1_024, bytes_of_one: 512, is_shared_out: true }, 'calls')
  const takesAll = (project_id: string) => {
    const place = room.place(project_id)
    for (let bytes = 0; ; bytes++) {
      try {
        place.take(1)
      } catch {
        return bytes
      }
    }
  }
  expect(['a', 'b', 'c', 'd'].map(takesAll)).toEqual([512, 256, 128, 64])
})

test('R78 what is small is not counted, and all of what is not', () => {
  const room = memoryRoom({ bytes: 10 * UNCOUNTED_BYTES, bytes_of_one: 10 * UNCOUNTED_BYTES }, 'calls')
  const held = new HeldBytes(room, 'a')
  held.take(UNCOUNTED_BYTES)
  expect(room.taken()).toBe(0)
  held.take(1)
  expect(room.taken()).toBe(UNCOUNTED_BYTES + 1)
  held.giveBack()
  expect(room.taken()).toBe(0)
})
