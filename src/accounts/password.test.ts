// What a password must be, and that checking one is bounded.
import { expect, test } from 'vitest'
import { deferred } from '../../test/support/tampered-db.ts'
import { argon2 } from '../start/argon2.ts'
import { boundedPasswords, canonical, NOBODYS_HASH, type PasswordHashing } from './password.ts'

test('F11 Argon2id with 19 MiB, two passes, one lane; nobody’s hash is of the same kind', async () => {
  const hash = await argon2.hash('correct horse battery')
  const kind = (text: string) => text.split('$').slice(1, 4)
  expect(kind(hash)).toEqual(['argon2id', 'v=19', 'm=19456,t=2,p=1'])
  expect(kind(NOBODYS_HASH)).toEqual(kind(hash))
  expect(NOBODYS_HASH).toHaveLength(hash.length)
  expect(await argon2.verify(hash, 'correct horse battery')).toBe(true)
  expect(await argon2.verify(hash, 'correct horse batterY')).toBe(false)
  expect(await argon2.hash('correct horse battery')).not.toBe(hash)
})

test('T-100 without a hash to compare with, the same is done, and the answer is no', async () => {
  const asked: string[] = []
  const yes: PasswordHashing = {
    hash: async () => '',
    verify: async (hash) => {
      asked.push(hash)
      return true
    },
  }
  const { matches } = boundedPasswords(yes)
  expect([await matches('x', undefined), await matches('x', null), await matches('x', 'h')]).toEqual([
    false,
    false,
    true,
  ])
  expect(asked).toEqual([NOBODYS_HASH, NOBODYS_HASH, 'h'])
})

test.each(['', 'short', 'elevenchars', '👩‍🚀👩‍🚀👩‍🚀'])('§5.9 %j is too short a password', async (password) => {
  await expect(boundedPasswords(argon2).hash(password)).rejects.toThrow('at least 12 characters')
})

test('§5.9 a letter is the same letter from every keyboard', () => {
  expect(canonical('cafe\u0301 au lait!')).toBe(canonical('caf\u00e9 au lait!'))
})

/** Hashes that wait until they are told to end; the most that ran at once, and what became of each. */
async function crowd(of: typeof boundedPasswords, size: number) {
  const gates: ReturnType<typeof deferred>[] = []
  let [running, most] = [0, 0]
  const slow: PasswordHashing = {
    verify: async () => true,
    async hash() {
      most = Math.max(most, ++running)
      const gate = deferred()
      gates.push(gate)
      await gate.promise
      running--
      if (gates.length % 3 === 0) throw new Error('a fault in the library')
      return 'hash'
    },
  }
  const { hash } = of(slow)
  const outcomes = Array.from({ length: size }, () =>
    hash('a password of some length').then(
      () => 'done',
      (error) => (error.status === 429 ? 'refused' : 'failed'),
    ),
  )
  const settled = Promise.all(outcomes)
  for (let ended = 0; ended < size; ended++) {
    await new Promise(setImmediate)
    gates[ended]?.resolve()
  }
  return { most, outcomes: await settled }
}

test('F11 two at a time, 32 wait, the rest is refused; a failure makes room like a success', async () => {
  const { most, outcomes } = await crowd(boundedPasswords, 50)
  expect(most).toBe(2)
  const count = (kind: string) => outcomes.filter((outcome) => outcome === kind).length
  expect([count('refused'), count('done') + count('failed')]).toEqual([16, 34])
  expect(count('failed')).toBeGreaterThan(0)
})

test('F11 planted: no bound, and a place that is lost with every failure, are caught', async () => {
  const unbounded = await crowd((hashing) => boundedPasswords(hashing, { at_once: 1_000, waiting: 0 }), 50)
  expect(unbounded.most).toBe(50)
  const unqueued = await crowd((hashing) => boundedPasswords(hashing, { at_once: 2, waiting: 0 }), 50)
  expect(unqueued.outcomes.filter((outcome) => outcome === 'refused')).toHaveLength(48)
})

test('F11 who is refused is told to come back in a second', async () => {
  const { hash } = boundedPasswords(argon2, { at_once: 0, waiting: 0 })
  const refusal = await hash('a password of some length').catch((error) => error)
  expect([refusal.status, refusal.headers]).toEqual([429, { 'retry-after': '1' }])
})
