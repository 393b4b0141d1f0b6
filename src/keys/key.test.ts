// §2.1, R4, R5: what a key looks like.
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { base62, randomBase62 } from '../core/ids.ts'
import { adoptKey, createKey, hashKey, isMintedForm, isOperatorForm, mask } from './key.ts'

const NOW = Date.UTC(2026, 10, 15, 12)
const mint = () => createKey('prj_1', { name: 'ci' }, NOW).raw

/** What is wrong with so many keys of this source. */
function faults(source: () => string, count = 10_000): string[] {
  const keys = Array.from({ length: count }, source)
  const found: string[] = []
  if (!keys.every((key) => /^svc_live_[0-9A-Za-z]{42}$/.test(key))) found.push('form')
  if (!keys.every((key) => key.slice(-6) === base62(crc32(key.slice(0, -6)), 6))) found.push('checksum')
  if (new Set(keys).size !== keys.length) found.push('collision')
  return found
}

test('R5 a hundred thousand keys have one form, a true checksum, and no twin', () => {
  expect(faults(mint, 100_000)).toEqual([])
})

test('R5 planted: keys with too little in them, or a checksum of something else, are caught', () => {
  const checked = (body: string) => body + base62(crc32(body), 6)
  expect(faults(() => checked(`svc_live_${randomBase62(3).padEnd(36, '0')}`))).toEqual(['collision'])
  expect(faults(() => `svc_live_${randomBase62(42)}`)).toEqual(['checksum'])
  expect(faults(() => checked(`svc_live_${randomBase62(20)}`))).toEqual(['form'])
})

test('R5 any single mistyped, missing, added or swapped character is noticed without a database', () => {
  const key = mint()
  const rest = [...key.slice(9)]
  const wrong = rest.flatMap((letter, at) => {
    const put = (...letters: string[]) => `svc_live_${rest.toSpliced(at, letters.length || 1, ...letters).join('')}`
    const next = rest[at + 1] ?? ''
    return [put(letter === 'a' ? 'b' : 'a'), put(), ...(next !== '' && next !== letter ? [put(next, letter)] : [])]
  })
  expect(isMintedForm(key)).toBe(true)
  expect([...wrong, `${key}a`, key.toLowerCase(), ` ${key}`, ''].filter(isMintedForm)).toEqual([])
})

test('R4 masked shows the first thirteen characters and the last four', () => {
  expect(mask('svc_live_ABCDefghijklmnopWXYZ')).toBe('svc_live_ABCD…WXYZ')
})

test('§2.1 a new key is active, unspent, for inference, and holds neither its raw form nor its hash', () => {
  const { api_key, raw, hash } = createKey('prj_1', { name: ' ci ' }, NOW)
  expect(api_key).toEqual({
    id: expect.stringMatching(/^key_/),
    object: 'api_key',
    project_id: 'prj_1',
    name: 'ci',
    masked: mask(raw),
    scopes: ['inference'],
    status: 'active',
    created_at: '2026-11-15T12:00:00.000Z',
    spent_micros: 0,
  })
  expect(JSON.stringify(api_key)).not.toContain(raw.slice(13, -4))
  expect(JSON.stringify(api_key)).not.toContain(hash)
})

test('T-46 a scope given twice is kept once', () => {
  const scopes = ['inference', 'inference', 'read'] as const
  expect(createKey('prj_1', { name: 'ci', scopes: [...scopes] }, NOW).api_key.scopes).toEqual(['inference', 'read'])
})

test('§2.1 the hash is SHA-256 of the whole raw key', () => {
  expect(Buffer.from(hashKey('abc'), 'base64url').toString('hex')).toBe(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  )
})

// Guards against a look-up by the first characters only, which let one caller take over another.
test('R5 keys that share all but one character hash apart', () => {
  const key = mint()
  const near = Array.from({ length: 42 }, (_, at) => `${key.slice(0, 9 + at)}-${key.slice(10 + at)}`)
  expect(new Set([key, ...near].map(hashKey)).size).toBe(43)
})

test.each([
  [`svc_live_${'x'.repeat(32)}`, true],
  [`svc_live_${'!~'.repeat(20)}`, true],
  [`svc_live_${'x'.repeat(31)}`, false],
  [`svc_test_${'x'.repeat(40)}`, false],
  [`svc_live_${'x'.repeat(31)} x`, false],
  [`svc_live_${'é'.repeat(40)}`, false],
])('R5 %s as an operator’s key: %s', (raw, good) => {
  expect(isOperatorForm(raw)).toBe(good)
})

test('R5 an operator’s key is for everything and known as such', () => {
  const { api_key, origin, raw } = adoptKey('prj_1', `svc_live_${'x'.repeat(32)}`, NOW)
  expect([api_key.scopes, origin, api_key.masked]).toEqual([['admin'], 'operator', mask(raw)])
})
