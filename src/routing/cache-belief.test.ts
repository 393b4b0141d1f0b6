// What targets are believed to hold: a bounded LRU each, and no project's at the cost of another's (R78).
import { expect, test } from 'vitest'
import { cacheBelief, type Holding, Sought } from './cache-belief.ts'

const prompt = (...hashes: string[]) => new Sought(hashes.map((hash, at) => ({ hash, tokens: (at + 1) * 100 })))
const letters = (text: string) => prompt(...Array.from(text, (_, at) => text.slice(0, at + 1)))

function heldOf(belief: ReturnType<typeof cacheBelief>, holdings: Holding[], text: string): number[] {
  belief.match('p', letters(text), holdings)
  return holdings.map(({ matched_tokens }) => matched_tokens)
}

test('R84 a target holds what it was sent, up to where prompts part; others hold nothing', () => {
  const belief = cacheBelief()
  const [a, b] = [belief.open('p', 10_000), belief.open('p', 10_000)]
  belief.sent(a, letters('hello'))
  expect(heldOf(belief, [a, b], 'help')).toEqual([300, 0])
  belief.sent(b, letters('he'))
  expect(heldOf(belief, [b, a], 'hello')).toEqual([200, 500])
})

test('R84 a cache that is full gives up what was used least recently, the end of a prompt before its beginning', () => {
  const belief = cacheBelief()
  const a = belief.open('p', 800)
  belief.sent(a, letters('first'))
  belief.sent(a, letters('other'))
  expect(heldOf(belief, [a], 'other')).toEqual([500])
  expect(heldOf(belief, [a], 'first')).toEqual([300])
  expect(a.held_tokens).toBe(800)
  belief.sent(a, letters('fi')) // used again
  belief.sent(a, letters('new'))
  expect(heldOf(belief, [a], 'first')).toEqual([200])
})

test('R84 a link that was missed is no gap in the cache, and one that was taken for another’s is no prefix', () => {
  const belief = cacheBelief()
  const [a, b] = [belief.open('p', 10_000), belief.open('p', 10_000)]
  const all = letters('conversation')
  belief.sent(a, new Sought(all.chain.toSpliced(3, 1)))
  belief.sent(b, new Sought(all.chain.slice(9, 10)))
  expect(heldOf(belief, [a, b], 'conversation')).toEqual([1_200, 0])
})

test('R84 forgetting: everything, or what was used no later than a stamp', () => {
  const belief = cacheBelief()
  const a = belief.open('p', 10_000)
  belief.sent(a, letters('old'))
  const { stamp } = a
  belief.sent(a, letters('new'))
  belief.forget(a, stamp)
  expect([heldOf(belief, [a], 'old'), heldOf(belief, [a], 'new')]).toEqual([[0], [300]])
  belief.forget(a)
  expect([belief.size(), a.held_tokens, a.oldest]).toEqual([0, 0, undefined])
})

test('R78 a project with a flood of prompts gives up its own, and none of another’s', () => {
  const belief = cacheBelief({ per_project: 600, in_all: 1_000 })
  const quiet = belief.open('p', 1e9)
  belief.sent(quiet, letters('quiet'))
  const loud = ['x', 'y', 'z'].map((project) => belief.open(project, 1e9))
  for (let at = 0; at < 3_000; at++) for (const holding of loud) belief.sent(holding, prompt(`${at} one`, `${at} two`))
  expect(heldOf(belief, [quiet], 'quiet')).toEqual([500])
  expect(belief.size()).toBeLessThanOrEqual(1_000)
  for (const project of ['x', 'y', 'z']) expect(belief.sizeOf(project)).toBeLessThanOrEqual(600)
})

test('R78 a single project at its bound leaves all of another’s where it is', () => {
  const belief = cacheBelief({ per_project: 100, in_all: 110 })
  const quiet = belief.open('p', 1e9)
  belief.sent(quiet, letters('quiet talk'))
  const loud = belief.open('x', 1e9)
  for (let at = 0; at < 500; at++) belief.sent(loud, prompt(`${at}`))
  expect([belief.sizeOf('p'), belief.sizeOf('x') <= 100]).toEqual([10, true])
})

test('R84 a target that is closed leaves nothing behind', () => {
  const belief = cacheBelief()
  const a = belief.open('p', 1_000)
  belief.sent(a, letters('gone'))
  belief.close(a)
  expect([belief.size(), belief.sizeOf('p')]).toEqual([0, 0])
})
