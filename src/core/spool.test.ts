import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { SPOOL_MEMORY_BYTES, Spool } from './spool.ts'

async function read(spool: Spool, from?: number, to?: number): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of spool.parts(from, to)) parts.push(part)
  return Buffer.concat(parts)
}

test('R77 what is put in comes out, from any place to any other, as often as it is asked for', async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat(2_000), fc.nat(2_000), fc.nat(1_000), async (lengths, one, two, memory) => {
      const spool = new Spool(undefined, memory)
      const bytes = Buffer.from(lengths.flatMap((length, n) => Array.from({ length }, (_, at) => (at * 31 + n) & 0xff)))
      let at = 0
      for (const length of lengths) {
        const waits = spool.add(bytes.subarray(at, at + length))
        at += length
        if (n_even(length)) await waits
      }
      const [from, to] = [Math.min(one, two, at), Math.min(Math.max(one, two), at)]
      expect([await read(spool), await read(spool, from, to)]).toEqual([bytes, bytes.subarray(from, to)])
      expect(spool.inMemory()?.equals(bytes) ?? at > memory).toBe(true)
      spool.close()
    }),
    { numRuns: 100 },
  )
})

const n_even = (n: number) => n % 2 === 0

test('R77 no more than 1 MiB is in memory, and the rest is in a file that has no name', async () => {
  const names = () => readdirSync(tmpdir()).filter((name) => name.startsWith('switchyard-'))
  const before = names()
  const spool = new Spool()
  await spool.add(Buffer.alloc(SPOOL_MEMORY_BYTES))
  expect(spool.inMemory()?.length).toBe(SPOOL_MEMORY_BYTES)
  await spool.add(Buffer.alloc(1))
  expect([spool.inMemory(), names()]).toEqual([undefined, before])
  spool.close()
  spool.close()
})

test('R78 what has no room is not taken', () => {
  const spool = new Spool({
    take() {
      throw new Error('no room')
    },
  })
  expect(() => spool.add(Buffer.alloc(1))).toThrow('no room')
  expect(spool.bytes).toBe(0)
})

test('R78 a disk that cannot be written to is 503, for all that comes after too, and closing is quiet', async () => {
  const { TMPDIR } = process.env
  onTestFinished(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  process.env.TMPDIR = '/nowhere/at/all'
  const spool = new Spool(undefined, 10)
  await spool.add(Buffer.alloc(10))
  const full = { status: 503, headers: { 'retry-after': '5' } }
  await expect(spool.add(Buffer.alloc(1))).rejects.toMatchObject(full)
  await expect(spool.add(Buffer.alloc(1))).rejects.toMatchObject(full)
  spool.close()
})
