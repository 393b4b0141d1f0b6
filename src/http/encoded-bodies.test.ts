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
