// R78: whose request begins when, on a held clock and with turns that are ended by hand.
import { expect, test } from 'vitest'
import { fairTurns, WAIT_MOST_MS } from './fair-turns.ts'

const BEGINS_FOR_MS = 1 // what a request takes of its turn
const AT_ONCE = 4 + 8 // for so long a turn lasts, and so many more of a project go on after it

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
      const start = () => {
        begun.push(go === 'begin' ? project : `${project} again`)
        now += BEGINS_FOR_MS
      }
      for (let n = 0; n < times; n++)
        if (go === 'begin') turns.begin(project, start, () => void begun.push(`${project} too late`))
        else turns.goOn(project, start)
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

test('R78 beside many of one project, a few of another go on at once; then they take turns', () => {
  const { ask, begun, turn } = scene()
  ask('a', 100)
  expect(begun).toHaveLength(AT_ONCE)
  ask('b', 10)
  expect(begun.slice(AT_ONCE)).toEqual(Array(8).fill('b'))
  expect(turn()).toEqual(['a', 'b', 'a', 'b', 'a', 'a', 'a', 'a']) // of 20 ms at most 8
  ask('b')
  expect(begun.at(-1)).toBe('b')
})

test('R78 however many projects ask for little, a turn has an end', () => {
  const { ask, begun, turn } = scene()
  for (let n = 0; n < 100; n++) ask(`p${n}`)
  expect(begun).toHaveLength(4 + 32)
  expect(turn()).toEqual(Array.from({ length: 8 }, (_, n) => `p${36 + n}`))
})

test('R78 of a busy event loop half of the time is for requests, and never more than 8 ms at once', () => {
  const { ask, begun, turn } = scene()
  ask('a', 100)
  expect(begun).toHaveLength(AT_ONCE)
  expect(turn(2)).toHaveLength(7) // of 14 ms that the last one took
  expect(turn(500)).toHaveLength(8)
  expect(turn()).toHaveLength(4)
  expect(turn()).toHaveLength(4)
})

test('R78 projects take turns, each in the order of its own', () => {
  const { ask, turn, begun, isIdle } = scene()
  ask('a', AT_ONCE + 3)
  ask('b', 8 + 3)
  ask('c', 8 + 2)
  expect(begun).toHaveLength(AT_ONCE + 8 + 8)
  expect(turn()).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b'])
  expect(turn()).toEqual([])
  expect(isIdle()).toBe(true)
})

test('R78 what has begun goes before what has not, and not before another project', () => {
  const { ask, turn } = scene()
  ask('a', AT_ONCE + 10)
  ask('b', 8 + 1)
  ask('a', 2, 'goOn')
  expect(turn().slice(0, 4)).toEqual(['a again', 'b', 'a again', 'a'])
})

test('R78 there is nothing to wait for while a turn lasts; after it there is, for who asked for much', async () => {
  const { ask, next, turn } = scene()
  expect(next('a')).toBeUndefined()
  ask('a', AT_ONCE)
  const waits = next('a')
  expect(waits).toBeInstanceOf(Promise)
  expect(next('b')).toBeUndefined()
  turn()
  await waits
})

test('R78 whoever has not begun in time is told so; what has begun goes on however long it took', () => {
  const { ask, turn } = scene()
  ask('a', AT_ONCE + 2)
  ask('a', 1, 'goOn')
  expect(turn(WAIT_MOST_MS)).toEqual(['a again', 'a too late', 'a too late'])
})

test('R78 a request that begins just in time begins', () => {
  const { ask, turn } = scene()
  ask('a', AT_ONCE + 1)
  expect(turn(WAIT_MOST_MS)).toEqual(['a'])
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
