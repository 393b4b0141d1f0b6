// R20: what is sealed opens with the same secret, ingredient and place, and with nothing else.
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Sealing, sealing } from './sealing.ts'

const SECRET = 'the secret of one server, long enough'
const PLAIN = Buffer.from('{"key":"svc_live_abc"}')

const opens = (work: () => Buffer) => {
  try {
    return work().equals(PLAIN)
  } catch {
    return false
  }
}

/** Every way in which opening must fail, and whether it did. */
function leaks(make: (secret: string) => Pick<Sealing, 'seal' | 'open'>): string[] {
  const [own, other] = [make(SECRET), make(`${SECRET}.`)]
  const sealed = own.seal(PLAIN, 'idem-1', 'row-1')
  const attempts: [string, () => Buffer][] = [
    ['another secret', () => other.open(sealed, 'idem-1', 'row-1')],
    ['another ingredient', () => own.open(sealed, 'idem-2', 'row-1')],
    ['another place', () => own.open(sealed, 'idem-1', 'row-2')],
    ['ingredient and place swapped', () => own.open(sealed, 'row-1', 'idem-1')],
    ['parts joined otherwise', () => own.open(sealed, 'idem-', '1row-1')],
    ...Array.from(sealed, (_, at): [string, () => Buffer] => [
      `byte ${at} flipped`,
      () => {
        const changed = Buffer.from(sealed)
        changed[at] = (changed[at] ?? 0) ^ 1
        const opened = own.open(changed, 'idem-1', 'row-1')
        return opened.length > 0 ? PLAIN : opened // whatever it gave, it should have refused
      },
    ]),
    ['a byte short', () => own.open(sealed.subarray(0, -1), 'idem-1', 'row-1')],
    ['a byte more', () => own.open(Buffer.concat([sealed, Buffer.from([0])]), 'idem-1', 'row-1')],
  ]
  return attempts.filter(([, attempt]) => opens(attempt)).map(([name]) => name)
}

test('R20 what is sealed opens again', () => {
  const { seal, open } = sealing(SECRET)
  expect(open(seal(PLAIN, 'idem-1', 'row-1'), 'idem-1', 'row-1')).toEqual(PLAIN)
  expect(open(seal(Buffer.alloc(0), 'idem-1', 'row-1'), 'idem-1', 'row-1')).toHaveLength(0)
})

test('R20 another secret, ingredient or place, or any changed byte, opens nothing', () => {
  expect(leaks(sealing)).toEqual([])
})

test('R20 the same text sealed twice looks different, and shows nothing of itself', () => {
  const { seal } = sealing(SECRET)
  const [once, twice] = [seal(PLAIN, 'idem-1', 'row-1'), seal(PLAIN, 'idem-1', 'row-1')]
  expect(once.equals(twice)).toBe(false)
  expect(once.includes('svc_live')).toBe(false)
})

test('R20 a fingerprint tells secrets apart and holds neither', () => {
  expect(sealing(SECRET).fingerprint()).toBe(sealing(SECRET).fingerprint())
  expect(sealing(SECRET).fingerprint()).not.toBe(sealing(`${SECRET}.`).fingerprint())
  expect(sealing(SECRET).fingerprint()).not.toContain(SECRET)
})

test('R20 planted: a cipher without place, or without a tag, is caught', () => {
  const real = sealing(SECRET)
  const placeless = (secret: string) => {
    const { seal, open } = sealing(secret)
    return { seal: (p: Uint8Array, i: string) => seal(p, i, ''), open: (s: Uint8Array, i: string) => open(s, i, '') }
  }
  const tagless = (secret: string) => {
    const key = (i: string, p: string) => createHash('sha256').update(`${secret}${i}${p}`).digest()
    return {
      ...real,
      seal(plain: Uint8Array, i: string, p: string) {
        const nonce = randomBytes(16)
        return Buffer.concat([nonce, createCipheriv('aes-256-ctr', key(i, p), nonce).update(plain)])
      },
      open: (sealed: Uint8Array, i: string, p: string) =>
        createDecipheriv('aes-256-ctr', key(i, p), sealed.subarray(0, 16)).update(sealed.subarray(16)),
    }
  }
  expect(leaks(placeless)).toContain('another place')
  expect(leaks(tagless)).toEqual(expect.arrayContaining(['parts joined otherwise', 'byte 20 flipped']))
})

test('R20 the key is HKDF of secret, ingredient and place: what earlier versions sealed opens', () => {
  const key = Buffer.from(hkdfSync('sha256', 'idem-1', SECRET, 'row-1', 32))
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = Buffer.concat([nonce, cipher.update(PLAIN), cipher.final(), cipher.getAuthTag()])
  expect(sealing(SECRET).open(sealed, 'idem-1', 'row-1')).toEqual(PLAIN)
})
