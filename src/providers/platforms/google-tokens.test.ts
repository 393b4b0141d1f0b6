// 0303: Google's library, as the built server loads it; and leases of what is lent.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { bundle } from '../../../scripts/bundle.mjs'
import { heldClock } from '../../../test/support/clock.ts'
import { SERVICE_ACCOUNT } from '../../../test/support/vertex-server.ts'
import { accountSecret } from '../../credentials/platform-secret.ts'
import { googleTokens } from './google-tokens.ts'
import { renewedLease } from './renewed-lease.ts'

type Needs = Parameters<typeof googleTokens>[0]

/** A token service that gives one token, whatever it is asked. */
const poolFor = () =>
  ({
    send: async () => {
      const body = Buffer.from('{"access_token":"ya29.bundled","expires_in":3600}')
      return { status: 200, each: async (take: (part: Buffer) => void) => take(body) }
    },
  }) as unknown as ReturnType<Needs['poolFor']>

test('0303 the library is loaded late, and found, where the server is built into a few files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-tokens-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const program = join(folder, 'program.ts')
  const source = fileURLToPath(new URL('google-tokens.ts', import.meta.url))
  writeFileSync(program, `export { googleTokens } from ${JSON.stringify(source)}`)
  bundle(program, join(folder, 'out'))
  const built = (await import(pathToFileURL(join(folder, 'out/program.js')).href)) as {
    googleTokens: typeof googleTokens
  }
  const tokens = built.googleTokens({ clock: heldClock(), poolFor })
  expect(await tokens.of(accountSecret(SERVICE_ACCOUNT), true).current()).toBe('ya29.bundled')
})

test('R79 without an account, only a call of the operator’s is made as the machine', async () => {
  const tokens = googleTokens({ clock: heldClock(), poolFor })
  for (const secret of [undefined, '', 'sk-1'])
    await expect(tokens.of(secret, false).current()).rejects.toThrow('no such account')
})

test('0303 a lease: one renewal at a time, before the end, and what there is serves until it ends', async () => {
  const clock = heldClock()
  let asked = 0
  let fails = false
  const lease = renewedLease(async () => {
    asked++
    if (fails) throw new Error('away')
    return { value: `token ${asked}`, expires_at: clock.now() + 3_600_000 }
  }, clock)
  const all = () => Promise.all([lease.current(), lease.current(), lease.current()])
  expect([await all(), asked]).toEqual([Array(3).fill('token 1'), 1])
  clock.advance(3_600_000 - 300_001)
  expect([await lease.current(), asked]).toEqual(['token 1', 1])
  fails = true
  clock.advance(1_000)
  expect(await all()).toEqual(Array(3).fill('token 1'))
  clock.advance(270_000) // less than half a minute is left
  expect(await lease.current()).toBe('token 1')
  clock.advance(30_000)
  await expect(lease.current()).rejects.toThrow('away')
  fails = false
  expect(await lease.current()).toMatch(/^token \d+$/)
  const before = asked
  lease.forget('another')
  await lease.current()
  expect(asked).toBe(before)
  lease.forget(await lease.current())
  await lease.current()
  expect(asked).toBe(before + 1)
})
