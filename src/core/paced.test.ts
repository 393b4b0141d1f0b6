// R78: a share of the time, after a burst.
import { expect, test } from 'vitest'
import { paced } from './paced.ts'

function scene() {
  const time = { now: 0 }
  return { time, pace: paced({ share: 0.5, burst_ms: 1_000 }, () => time.now) }
}

test('R78 what a burst has room for needs no rest; from there on, as much rest as work', () => {
  const { time, pace } = scene()
  const rests: number[] = []
  for (let n = 0; n < 40; n++) {
    time.now += 100
    const rest_ms = pace.restAfter('a', 100)
    rests.push(rest_ms)
    time.now += rest_ms
  }
  expect(rests.slice(0, 19)).toEqual(Array(19).fill(0)) // half of each is forgiven while the next is done
  expect(rests.slice(-10)).toEqual(Array(10).fill(100))
})

test('R78 however many are at work at a time, together they have the share', () => {
  const { time, pace } = scene()
  pace.restAfter('a', 1_000)
  time.now += 100
  expect(pace.restAfter('a', 100)).toBe(100)
  expect(pace.restAfter('a', 100)).toBe(300)
})

test('R78 one project rests for itself alone, and a pause earns the burst again', () => {
  const { time, pace } = scene()
  expect(pace.restAfter('a', 1_500)).toBe(1_000)
  expect(pace.restAfter('b', 900)).toBe(0)
  time.now += 3_000
  expect(pace.restAfter('a', 1_000)).toBe(0)
})

test('R78 no more names are remembered than a server has room for', () => {
  const { pace } = scene()
  pace.restAfter('first', 5_000)
  for (let n = 0; n < 10_000; n++) pace.restAfter(`p${n}`, 1)
  expect(pace.restAfter('first', 900)).toBe(0)
})
