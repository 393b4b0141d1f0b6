// R78: of one project one such work at a time, and one that waits for it.
import { expect, test } from 'vitest'
import { oneUnderWay } from './one-under-way.ts'

/** Works that end when they are told to. */
function scene() {
  const begun: { name: string; wanted: number; end(failed?: true): void }[] = []
  const made = oneUnderWay<number, string>({
    make: (name, wanted) =>
      new Promise((resolve, reject) => {
        begun.push({
          name,
          wanted,
          end: (failed) => (failed ? reject(new Error('away')) : resolve(`${name}${wanted}`)),
        })
      }),
    serves: (begun_for, wanted) => begun_for >= wanted,
    newer: Math.max,
  })
  const all = () => begun.map(({ name, wanted }) => `${name}${wanted}`)
  return { begun, made, all }
}

test('R78 whoever needs it newer waits for the next, which begins behind the first, once for all', async () => {
  const { begun, made, all } = scene()
  const [first, alike, older] = [made('a', 5), made('a', 5), made('a', 4)]
  const later = [6, 9, 7].map((wanted) => made('a', wanted))
  const other = made('b', 1)
  expect(all()).toEqual(['a5', 'b1'])
  for (const one of begun) one.end()
  expect(await Promise.all([first, alike, older, other])).toEqual(['a5', 'a5', 'a5', 'b1'])
  expect(all()).toEqual(['a5', 'b1', 'a9'])
  const joined = made('a', 8)
  begun[2]?.end()
  expect(await Promise.all([...later, joined])).toEqual(['a9', 'a9', 'a9', 'a9'])
  made('a', 1)
  expect(all()).toEqual(['a5', 'b1', 'a9', 'a1'])
})

test('R78 one that fails keeps nobody waiting behind it', async () => {
  const { begun, made, all } = scene()
  const [first, next] = [made('a', 1), made('a', 2)]
  begun[0]?.end(true)
  await expect(first).rejects.toThrow('away')
  expect(all()).toEqual(['a1', 'a2'])
  begun[1]?.end()
  expect(await next).toBe('a2')
})
