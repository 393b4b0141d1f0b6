// The order of parts, and who waits for whom.
import { describe, expect, test } from 'vitest'
import { Handover } from './handover.ts'

function handover() {
  const log: string[] = []
  const made = new Handover({
    pause: () => log.push('pause'),
    resume: () => log.push('resume'),
    stop: () => log.push('stop'),
    done: () => log.push('done'),
  })
  return { made, log }
}

const part = (text: string) => Buffer.from(text)

/** A taker whose every part waits until the test says so. */
function slowTaker() {
  const taken: string[] = []
  const waiting: { resolve(): void; reject(error: unknown): void }[] = []
  const take = (bytes: Buffer) =>
    new Promise<void>((resolve, reject) => {
      taken.push(bytes.toString())
      waiting.push({ resolve, reject })
    })
  return { take, taken, next: () => waiting.shift() }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('R41 parts are handed over', () => {
  test('as they come, where the taker does not wait', async () => {
    const { made, log } = handover()
    const taken: string[] = []
    const each = made.each((bytes) => void taken.push(bytes.toString()))
    made.push(part('a'))
    made.push(part('b'))
    expect(taken).toEqual(['a', 'b'])
    made.end()
    await each
    expect(log).toEqual(['done'])
  })

  test('in order and one at a time to a slow taker, with the wire held back meanwhile', async () => {
    const { made, log } = handover()
    const { take, taken, next } = slowTaker()
    const each = made.each(take)
    for (const text of ['a', 'b', 'c']) made.push(part(text)) // the rest of one read comes even though it is paused
    made.end()
    expect([taken, log]).toEqual([['a'], ['pause']])
    next()?.resolve()
    await turn()
    expect(taken).toEqual(['a', 'b'])
    next()?.resolve()
    await turn()
    next()?.resolve()
    await each
    expect([taken, log]).toEqual([
      ['a', 'b', 'c'],
      ['pause', 'done'],
    ])
  })

  test('with the wire let go again once the taker has caught up', async () => {
    const { made, log } = handover()
    const { take, next } = slowTaker()
    void made.each(take)
    made.push(part('a'))
    next()?.resolve()
    await turn()
    expect(log).toEqual(['pause', 'resume'])
  })

  test('also those that came before anybody asked, of which only so many are kept', async () => {
    const { made, log } = handover()
    made.push(part('a'))
    expect(log).toEqual([])
    made.push(Buffer.alloc(64 * 1024))
    expect(log).toEqual(['pause'])
    const sizes: number[] = []
    const each = made.each((bytes) => void sizes.push(bytes.length))
    expect([sizes, log]).toEqual([
      [1, 64 * 1024],
      ['pause', 'resume'],
    ])
    made.end()
    await each
  })

  test('once: whoever comes second is told so', () => {
    const { made } = handover()
    void made.each(() => {})
    expect(() => made.each(() => {})).toThrow('once')
  })
})

describe('R47 where it breaks', () => {
  test('what had arrived is handed over before the failure is told', async () => {
    const { made } = handover()
    const { take, taken, next } = slowTaker()
    const each = made.each(take)
    made.push(part('a'))
    made.push(part('b'))
    made.fail(new Error('reset'))
    next()?.resolve()
    await turn()
    expect(taken).toEqual(['a', 'b'])
    next()?.resolve()
    await expect(each).rejects.toThrow('reset')
  })

  test('a failure before anybody asked is told when they ask', async () => {
    const { made } = handover()
    made.push(part('a'))
    made.fail(new Error('reset'))
    const taken: string[] = []
    await expect(made.each((bytes) => void taken.push(bytes.toString()))).rejects.toThrow('reset')
    expect(taken).toEqual(['a'])
  })

  test.each([
    ['throws', thrown],
    ['rejects', () => Promise.reject(new Error('taker'))],
  ])('a taker that %s stops the wire and gets its own error back', async (_case, take) => {
    const { made, log } = handover()
    const each = made.each(take as () => Promise<void>)
    made.push(part('a'))
    made.push(part('b'))
    await expect(each).rejects.toThrow('taker')
    expect(log.filter((entry) => entry !== 'pause')).toEqual(['done', 'stop'])
  })

  test('a taker that fails on the last part fails the whole, though the wire had ended well', async () => {
    const { made } = handover()
    const { take, next } = slowTaker()
    const each = made.each(take)
    made.push(part('a'))
    made.end()
    next()?.reject(new Error('taker'))
    await expect(each).rejects.toThrow('taker')
  })

  // A client that is gone never drains: whoever waits for it must be let go all the same.
  test('abandoning does not wait for a taker that hangs', async () => {
    const { made, log } = handover()
    const { take, taken, next } = slowTaker()
    const each = made.each(take)
    made.push(part('a'))
    made.push(part('b'))
    made.abandon(new Error('left'))
    await expect(each).rejects.toThrow('left')
    next()?.resolve()
    await turn()
    expect([taken, log]).toEqual([['a'], ['pause', 'done']])
  })

  test('abandoning after the wire has ended well still lets the taker go', async () => {
    const { made } = handover()
    const { take } = slowTaker()
    const each = made.each(take)
    made.push(part('a'))
    made.end()
    made.abandon(new Error('left'))
    await expect(each).rejects.toThrow('left')
  })
})

function thrown(): never {
  throw new Error('taker')
}
