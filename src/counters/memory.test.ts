// The counters of one process: what every adapter must do, and how much it may cost (T-74).
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ask, countersSuite, placesLost, settleTokens, takenByRefusals } from '../../test/support/counters-suite.ts'
import { slidingWindow } from '../limits/sliding-window.ts'
import type { Counters, Verdict } from './counters.ts'
import { memoryCounters } from './memory.ts'

const memory = (cells_max?: number) => memoryCounters(slidingWindow, cells_max)

countersSuite(() => memory())

describe('planted', () => {
  test('T-67 limits that are asked one after the other are caught: those before the refusal are used', async () => {
    const counters = memory()
    const oneByOne: Counters = {
      ...counters,
      take(asks, now, leases) {
        const verdicts = asks.map((one) => counters.take([one], now) as Verdict)
        const by = verdicts.findIndex(({ kind }) => kind === 'refused')
        const readings = verdicts.flatMap((verdict) => verdict.readings)
        if (by >= 0) return { kind: 'refused', by, readings, wait_s: 1 }
        const last = counters.take([], now, leases) as Verdict
        return last.kind === 'refused' ? { ...last, by: asks.length, readings } : { ...last, readings }
      },
    }
    expect((await takenByRefusals(oneByOne)).some((used) => used > 0)).toBe(true)
  })

  test('F10 tokens that are settled in the present second are caught', async () => {
    const counters = memory()
    let second = 0
    const settledNow: Counters = {
      ...counters,
      take(asks, now, leases) {
        const verdict = counters.take(asks, now, leases) as Verdict
        if (verdict.kind === 'taken') second = verdict.second
        return verdict
      },
      correct: (all) => counters.correct(all.map((one) => ({ ...one, second }))),
    }
    expect((await settleTokens(settledNow, 10_000, 1_000_000)).drift).not.toBe(0)
  })

  test('F9 streams that are counted up and down are caught: an end that nobody hears of costs a place for ever', async () => {
    let open = 0
    const upAndDown: Counters = {
      ...memory(),
      take(_asks, _now, leases): Verdict {
        if (open >= (leases?.[0]?.limit ?? 0)) return { kind: 'refused', readings: [], by: 0, wait_s: 1 }
        open++
        return { kind: 'taken', second: 0, readings: [], exceeded: [] }
      },
      release: () => void open--,
    }
    expect(await placesLost(upAndDown)).toBe(5)
  })
})

describe('T-74 however many addresses come', () => {
  const CELLS = 1_000
  const at = (subject: string, limit = 10) => ask({ layer: 'edge', name: 'read_per_minute', subject, limit })

  test('T-74 there are never more cells than there may be', () => {
    const counters = memory(CELLS)
    for (let n = 0; n < 20 * CELLS; n++) counters.take([at(`stranger ${n}`)], NOON)
    expect(counters.cells()).toBe(CELLS)
  })

  /** How often an offender got through, over its limit, while strangers flooded the table between its tries. */
  function freshCounts(counters: Counters, strangers: number, rounds: number): number {
    const offender = at('offender')
    for (let n = 0; n < 10; n++) counters.take([offender], NOON)
    let passed = 0
    for (let round = 0; round < rounds; round++) {
      for (let n = 0; n < strangers; n++) counters.take([at(`stranger ${round} ${n}`)], NOON + round * 1_000)
      if ((counters.take([offender], NOON + round * 1_000) as Verdict).kind === 'taken') passed++
    }
    return passed
  }

  test('T-74 an active offender gets no fresh count, though each of its tries comes behind ten times as many others', () => {
    expect(freshCounts(memory(CELLS), 10 * CELLS, 20)).toBe(0)
  })

  test('T-74 planted: counters that forget whoever rested longest, offender or not, are caught', () => {
    const kept = new Map<string, { taken: number }>()
    const forgetful: Counters = {
      ...memory(),
      take([one = at('')]): Verdict {
        const cell = kept.get(one.subject) ?? { taken: 0 }
        kept.delete(one.subject)
        kept.set(one.subject, cell)
        if (kept.size > CELLS) kept.delete(kept.keys().next().value ?? '')
        if (cell.taken >= one.limit) return { kind: 'refused', readings: [], by: 0, wait_s: 1 }
        cell.taken++
        return { kind: 'taken', second: 0, readings: [], exceeded: [] }
      },
    }
    expect(freshCounts(forgetful, 10 * CELLS, 5)).toBeGreaterThan(0)
  })

  test('T-74 five hundred offenders at once keep their counts; when their minute has passed, their cells are used anew', () => {
    const counters = memory(CELLS)
    const offenders = Array.from({ length: CELLS / 2 }, (_, n) => at(`offender ${n}`, 2))
    for (let tries = 0; tries < 3; tries++) for (const one of offenders) counters.take([one], NOON)
    for (let n = 0; n < 20 * CELLS; n++) counters.take([at(`stranger ${n}`)], NOON)
    const again = offenders.map((one) => (counters.take([one], NOON) as Verdict).kind)
    expect(again.filter((kind) => kind === 'taken')).toEqual([])

    for (let n = 0; n < CELLS; n++) counters.take([at(`later ${n}`)], NOON + 61_000)
    expect(counters.cells()).toBe(CELLS)
    expect((counters.take([offenders[0] ?? at('')], NOON + 61_000) as Verdict).kind).toBe('taken')
  })

  test('T-74 where more are over their limit than may be spared, memory still ends', () => {
    const counters = memory(CELLS)
    for (let n = 0; n < 5 * CELLS; n++) for (let tries = 0; tries < 2; tries++) counters.take([at(`${n}`, 1)], NOON + n)
    expect(counters.cells()).toBe(CELLS)
  })

  test('T-74 one request never pushes out its own cells', () => {
    const counters = memory(4)
    for (const subject of ['old', 'x', 'y', 'z']) counters.take([ask({ subject, amount: 3 })], NOON)
    const verdict = counters.take(
      ['old', 'new', 'newer'].map((subject) => ask({ subject })),
      NOON,
    ) as Verdict
    expect(verdict.readings.map(({ left }) => left)).toEqual([6, 9, 9])
  })

  test('T-74 strangers at the edge push out no key', () => {
    const counters = memory(CELLS)
    const key = ask({ limit: 1 })
    counters.take([key], NOON)
    for (let n = 0; n < 10 * CELLS; n++) counters.take([at(`stranger ${n}`)], NOON)
    expect((counters.take([key], NOON) as Verdict).kind).toBe('refused')
  })

  test('T-74 a million addresses take less than 64 MB, and their offender is still refused', async () => {
    // With room for what is thrown away, the collector need not look at what stays over and over.
    const args = ['--expose-gc', '--max-semi-space-size=64', '--import', 'tsx', 'test/support/limiter-memory.ts']
    const { stdout } = await promisify(execFile)(process.execPath, args)
    process.stdout.write(`T-74: ${stdout.trim()}\n`)
    const { megabytes, cells, offender } = JSON.parse(stdout)
    expect(megabytes).toBeLessThan(64)
    expect({ cells, offender }).toEqual({ cells: 100_000, offender: 'refused' })
  })
})
