// R52: what upstreams say they have: how often they are asked, how many at once, and what is kept of it.
import { expect, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { MINUTE_MS, SECOND_MS } from '../core/clock.ts'
import { listedModels } from './listed-models.ts'

function scene(lists_max_bytes?: number) {
  const clock = heldClock()
  const asked: string[] = []
  let answer = async () => ['a']
  const listed = listedModels(
    clock,
    ({ id }) => {
      asked.push(id)
      return answer()
    },
    lists_max_bytes,
  )
  const of = (id: string, before?: string[], owner = 'p') => listed.of({ id, owner }, before)
  const say = (next: () => Promise<string[]>) => {
    answer = next
  }
  return { clock, asked, of, say }
}

const down = () => Promise.reject(new Error('down'))

test('R52 an endpoint is asked once a minute, each by itself, however many need it at once', async () => {
  const { clock, asked, of, say } = scene()
  expect(await Promise.all([of('x'), of('x'), of('y')])).toEqual([['a'], ['a'], ['a']])
  expect(await of('x')).toEqual(['a'])
  expect(asked).toEqual(['x', 'y'])
  clock.advance(MINUTE_MS)
  say(async () => ['a', 'b'])
  expect(await of('x')).toEqual(['a', 'b'])
})

test('R52 one that does not answer keeps what it last listed, and is not asked again at once', async () => {
  const { clock, asked, of, say } = scene()
  await of('x')
  clock.advance(MINUTE_MS)
  say(down)
  expect(await of('x')).toEqual(['a'])
  expect(await of('x')).toEqual(['a'])
  expect(await of('never seen')).toEqual([])
  expect(asked).toEqual(['x', 'x', 'never seen'])
})

test('R52 where nothing is answered, what is stored stands for each: it is no list of none', async () => {
  const { clock, of, say } = scene()
  await of('x', ['stored'])
  clock.advance(MINUTE_MS)
  say(down)
  expect([await of('new'), await of('x', ['told since'])]).toEqual([[], ['told since']])
  expect([await of('new', ['m']), await of('x', ['told since'])]).toEqual([['m'], ['told since']])
})

test('R78 a few of one owner are asked at a time; whoever would wait for long is asked 15 seconds later', async () => {
  const { clock, asked, of, say } = scene()
  const answers: (() => void)[] = []
  say(() => new Promise((resolve) => void answers.push(() => resolve(['new']))))
  const all = Promise.all(Array.from({ length: 20 }, (_, at) => of(`x${at}`, ['stored'])))
  const other = of('y', [], 'another')
  expect(asked).toHaveLength(9)
  clock.advance(3 * SECOND_MS)
  for (const answerOne of answers) answerOne()
  expect((await all).filter(([id]) => id === 'stored')).toHaveLength(12)
  expect([await other, asked.length]).toEqual([['new'], 9])
  say(async () => ['new'])
  expect(await of('x19', ['stored'])).toEqual(['stored'])
  clock.advance(15 * SECOND_MS)
  expect(await of('x19', ['stored'])).toEqual(['new'])
})

test('R78 lists are kept while there is room: the one that was used longest ago gives way', async () => {
  const { asked, of, say } = scene(1_000)
  for (const id of ['x', 'y', 'z', 'x', 'u']) {
    say(async () => [id.repeat(100)])
    await of(id, ['stored'])
  }
  for (const id of ['v', 'w']) {
    say(async () => [id.repeat(100)])
    await of(id, ['stored'])
  }
  const lists = await Promise.all(['x', 'y', 'z', 'u', 'v', 'w'].map((id) => of(id, ['stored'])))
  expect(lists.map(([id]) => id?.[0])).toEqual(['x', 's', 'z', 'u', 'v', 'w'])
  expect(asked).toEqual(['x', 'y', 'z', 'u', 'v', 'w'])
})
