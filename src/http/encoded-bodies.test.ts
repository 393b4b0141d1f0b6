// §10.1: of a body that grows without end, no more is unpacked than shows that it is too large.
import { Readable } from 'node:stream'
import { createGunzip, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { decoded } from './encoded-bodies.ts'

const LIMIT = 65_536
const PART = 65_536

test('§10.1 of a gigabyte that comes as 1 MB, the limit and a part of it are unpacked', async () => {
  const member = gzipSync(Buffer.alloc(20_000_000, ' '))
  const bomb = Buffer.concat(Array.from({ length: 50 }, () => member))
  const decoder = createGunzip({ chunkSize: PART })
  let unpacked = 0
  for await (const part of decoded(Readable.from([bomb]), { coding: 'gzip', decoder, limit: LIMIT }))
    unpacked += part.length
  expect(unpacked).toBeGreaterThan(LIMIT)
  expect(unpacked).toBeLessThanOrEqual(LIMIT + PART)
  expect(decoder.destroyed).toBe(true)
})

const unpack = async (body: Buffer) => {
  const decoding = { coding: 'gzip', decoder: createGunzip({ chunkSize: PART }), limit: 16_000_000 }
  let unpacked = 0
  for await (const part of decoded(Readable.from([body]), decoding)) unpacked += part.length
  return unpacked
}

test('R77 413: a body that unpacks to two hundred times its size is read no further than its first megabyte', async () => {
  const bomb = gzipSync(Buffer.alloc(12_000_000, ' '), { level: 9 })
  await expect(unpack(bomb)).rejects.toMatchObject({ kind: 'body_too_large', status: 413 })
  const small = gzipSync(Buffer.alloc(1_000_000, ' '), { level: 9 })
  expect(await unpack(small)).toBe(1_000_000)
})

test('R77 a long prompt that repeats itself is unpacked', async () => {
  const words = Array.from({ length: 1_000 }, (_, n) => `word${n * 7919} `).join('')
  const prompt = Buffer.from(words.repeat(600))
  expect(await unpack(gzipSync(prompt))).toBe(prompt.length)
})
