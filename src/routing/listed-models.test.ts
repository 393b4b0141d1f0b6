import { expect, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { MINUTE_MS } from '../core/clock.ts'
import { listedModels } from './listed-models.ts'

function scene() {
  const clock = heldClock()
  const asked: string[] = []
  let answer = async () => ['a']
  const listed = listedModels(clock, (endpoint) => {
    asked.push(endpoint)
    return answer()
  })
  const say = (next: () => Promise<string[]>) => {
    answer = next
  }
  return { clock, asked, listed, say }
}

test('R52 an endpoint is asked once a minute, each by itself', async () => {
  const { clock, asked, listed, say } = scene()
  expect([await listed.of('x', []), await listed.of('x', []), await listed.of('y', [])]).toEqual([['a'], ['a'], ['a']])
  expect(asked).toEqual(['x', 'y'])
  clock.advance(MINUTE_MS)
  say(async () => ['a', 'b'])
  expect(await listed.of('x', [])).toEqual(['a', 'b'])
})

test('R52 one that does not answer keeps what it last listed, and is not asked again at once', async () => {
  const { clock, asked, listed, say } = scene()
  await listed.of('x', [])
  clock.advance(MINUTE_MS)
  say(() => Promise.reject(new Error('down')))
  expect(await listed.of('x', [])).toEqual(['a'])
  expect(await listed.of('x', [])).toEqual(['a'])
  expect(await listed.of('never seen', [])).toEqual([])
  expect(asked).toEqual(['x', 'x', 'never seen'])
})
