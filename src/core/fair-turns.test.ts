// R78: whose request begins when, on a held clock and with turns that are ended by hand.
import { expect, test } from 'vitest'
import { fairTurns } from './fair-turns.ts'

const BEGINS_FOR_MS = 1 // what a request takes of its turn

function scene() {
  let now = 0
  const soon: (() => void)[] = []
  let next: (() => void)[] = []
  const begun: string[] = []
  const turns = fairTurns({
    now_ms: () => now,
    nextTurn: (work) => void next.push(work),
    afterwards: (work) => void soon.push(work),
  })
  const settle = () => {
    for (let work = soon.shift(); work; work = soon.shift()) work()
  }
  return {
    begun,
    ask(project: string, times = 1, go: 'begin' | 'goOn' = 'begin'): void {
      for (let n = 0; n < times; n++)
        turns[go](project, () => {
          begun.push(go === 'begin' ? project : `${project} again`)
          now += BEGINS_FOR_MS
        })
    },
    next: turns.next,
    /** What began in it, where the last one had so much else to do. */
    turn(other_work_ms = 0): string[] {
      now += other_work_ms
      const before = begun.length
      const due = next
      next = []
      for (const work of due) work()
      settle()
      return begun.slice(before)
    },
    isIdle: () => next.length === 0 && soon.length === 0,
  }
}

test('R78 what a turn has time for begins at once, in the order in which it came', () => {
  const { ask, begun, turn, isIdle } = scene()
  ask('a', 2)
  ask('b', 2)
  expect(begun).toEqual(['a', 'a', 'b', 'b'])
  expect(turn()).toEqual([])
  expect(isIdle()).toBe(true)
})

test('R78 of many at once, one of another project waits for one of them and not for all', () => {
  const { ask, begun, turn } = scene()
  ask('a', 100)
  expect(begun).toHaveLength(4)
  ask('b')
  expect(turn()).toEqual(['a', 'b', 'a', 'a'])
})

test('R78 of a busy event loop half of the time is for requests, and never more than 16 ms at once', () => {
  const { ask, begun, turn } = scene()
  ask('a', 100)
  expect(begun).toHaveLength(4)
  expect(turn(16)).toHaveLength(10) // of 20 ms that the last one took
  expect(turn(10)).toHaveLength(10)
  expect(turn(500)).toHaveLength(16)
  expect(turn()).toHaveLength(8)
  expect(turn()).toHaveLength(4)
})

test('R78 projects take turns, each in the order of its own', () => {
  const { ask, turn, begun, isIdle } = scene()
  ask('a', 7)
  ask('b', 3)
  ask('c', 2)
  expect(begun).toEqual(['a', 'a', 'a', 'a'])
  expect([turn(), turn()]).toEqual([
    ['a', 'b', 'c', 'a'],
    ['b', 'c', 'a', 'b'],
  ])
  expect(turn()).toEqual([])
  expect(isIdle()).toBe(true)
})

test('R78 what has begun goes before what has not, and not before another project', () => {
  const { ask, turn } = scene()
  ask('a', 10)
  ask('b')
  ask('a', 2, 'goOn')
  expect(turn()).toEqual(['a again', 'b', 'a again', 'a'])
})

test('R78 there is nothing to wait for while a turn lasts; after it there is', async () => {
  const { ask, next, turn } = scene()
  expect(next('a')).toBeUndefined()
  ask('a', 4)
  const waits = next('b')
  expect(waits).toBeInstanceOf(Promise)
  turn()
  await waits
})

test('R78 nothing is lost where requests come while others wait', () => {
  const { ask, turn, begun } = scene()
  for (let n = 0; n < 50; n++) {
    ask(`p${n % 7}`, 3)
    turn()
  }
  for (let n = 0; n < 60; n++) turn()
  expect(begun).toHaveLength(150)
  ask('late')
  expect(begun).toHaveLength(151)
})
