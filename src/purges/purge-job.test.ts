// §8.1: which kinds a purge job goes through, and when it counts again.
import { expect, test } from 'vitest'
import { afterBatch, afterCheck, erasingFrom, type Progress } from './purge-job.ts'

const KINDS = ['responses', 'sessions', 'traces', 'prefix_memory']
const counted = (...counts: number[]): Progress => ({
  ...{ phase: 'count', at: 0, cursor: null, passes: 0, failures: 0, erased: {} },
  matched: Object.fromEntries(KINDS.map((kind, n) => [kind, counts[n] ?? 0])),
})

/** The kinds of which something is erased, until it counts again. */
function walked(progress: Progress, is_listed: boolean): string[] {
  const job = { kinds: KINDS, is_listed }
  const kinds: string[] = []
  for (let now = erasingFrom(0, progress, job); now.phase === 'erase'; ) {
    kinds.push(KINDS[now.at] as string)
    now = afterBatch(now, job, { erased: 0, next: null })
  }
  return kinds
}

test.each([
  ['some', counted(0, 2, 0, 1), ['sessions', 'prefix_memory']],
  ['all', counted(1, 1, 1, 1), KINDS],
  ['none', counted(0, 0, 0, 0), []],
])('§8.1 a job that names things goes through no kind of which nothing matched: %s', (_case, progress, kinds) => {
  expect(walked(progress, true)).toEqual(kinds)
})

test('§8.1 any other job goes through all kinds, which leave things behind that nobody counts', () => {
  expect(walked(counted(0, 0, 0, 0), false)).toEqual(KINDS)
})

test('§8.1 what came late is erased by another pass, though nothing of its kind had matched', () => {
  const job = { kinds: KINDS, is_listed: true }
  const checking = erasingFrom(0, counted(0, 0, 0, 0), job)
  expect(checking).toMatchObject({ phase: 'check', passes: 1 })
  expect(afterCheck({ ...job, progress: checking }, { traces: 0 })).toEqual({ kind: 'done' })
  expect(afterCheck({ ...job, progress: checking }, { traces: 2 })).toMatchObject({
    kind: 'again',
    progress: { phase: 'erase', at: KINDS.indexOf('traces'), matched: { traces: 2 } },
  })
})
