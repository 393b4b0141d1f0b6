// R78: a name that never resolves keeps one lookup at a time, its domain is left alone, and others are looked up.
import type { LookupAddress } from 'node:dns'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { fairLookups } from './fair-lookups.ts'

const HERE: LookupAddress[] = [{ address: '192.0.2.1', family: 4 }]

/** Names are answered by hand. */
function scene() {
  const clock = { ms: 0, now: () => clock.ms }
  const asked: string[] = []
  const open = new Map<string, (error: Error | null, answers: LookupAddress[]) => void>()
  const lookup = fairLookups((hostname, _options, done) => {
    asked.push(hostname)
    open.set(hostname, done)
  }, clock)
  const told: string[] = []
  const ask = (hostname: string) =>
    lookup(hostname, { all: true }, (error) => void told.push(`${hostname}: ${error ? 'no' : 'yes'}`))
  const reply = (hostname: string) => open.get(hostname)?.(null, HERE)
  return { clock, asked, told, ask, reply }
}

test('R78 a thousand names of one domain are one lookup; those of others go on once it was slow', async () => {
  const { clock, asked, told, ask, reply } = scene()
  ask('well.example')
  reply('well.example')
  for (let n = 0; n < 1_000; n++) ask(`n${n}.evil.example`)
  expect(asked).toEqual(['well.example', 'n0.evil.example'])
  ask('well.example') // one that was well does not wait for it
  reply('well.example')
  expect(told).toEqual(['well.example: yes', 'well.example: yes'])
  clock.ms = 20_000
  reply('n0.evil.example')
  await turn()
  expect(asked).toHaveLength(3)
  expect(told.filter((one) => one.endsWith('evil.example: no'))).toHaveLength(999)
  ask('new.example')
  reply('new.example')
  ask('again.evil.example')
  await turn()
  expect(told.slice(-2)).toEqual(['new.example: yes', 'again.evil.example: no'])
  clock.ms += 30_000
  ask('again.evil.example')
  reply('again.evil.example')
  expect(told.at(-1)).toBe('again.evil.example: yes')
})

test('R78 a name that was well and is slow rests, then waits with those that nobody knows; its neighbours go on', async () => {
  const { clock, asked, told, ask, reply } = scene()
  for (const name of ['a.shared.example', 'b.shared.example']) {
    ask(name)
    reply(name)
  }
  ask('a.shared.example')
  clock.ms = 8_000
  reply('a.shared.example')
  ask('a.shared.example')
  ask('b.shared.example') // well, whatever its domain
  reply('b.shared.example')
  await turn()
  expect(told.slice(-2)).toEqual(['b.shared.example: yes', 'a.shared.example: no'])
  clock.ms += 40_000
  ask('unknown.example')
  ask('a.shared.example')
  expect(asked.at(-1)).toBe('unknown.example')
  reply('unknown.example')
  expect(asked.at(-1)).toBe('a.shared.example')
})

test('R78 a domain is left alone while its lookup is still under way, and equal names wait for one answer', async () => {
  const { clock, asked, told, ask, reply } = scene()
  ask('a.slow.example')
  ask('a.slow.example')
  clock.ms = 5_000
  ask('b.slow.example')
  await turn()
  expect([asked, told]).toEqual([['a.slow.example'], ['b.slow.example: no']])
  reply('a.slow.example')
  expect(told.slice(1)).toEqual(['a.slow.example: yes', 'a.slow.example: yes'])
})

test('R78 whoever has waited for longer than a dial takes is told so, and not looked up', () => {
  const { clock, asked, told, ask, reply } = scene()
  ask('a.one.example')
  ask('a.two.example')
  clock.ms = 6_000
  reply('a.one.example')
  expect([asked, told]).toEqual([['a.one.example'], ['a.one.example: yes', 'a.two.example: no']])
})

test('R78 a slow name under co.uk is its owner’s alone', async () => {
  const { clock, told, ask, reply } = scene()
  ask('a.evil.co.uk')
  clock.ms = 20_000
  reply('a.evil.co.uk')
  ask('b.evil.co.uk')
  ask('shop.co.uk')
  reply('shop.co.uk')
  await turn()
  expect(told).toEqual(['a.evil.co.uk: yes', 'shop.co.uk: yes', 'b.evil.co.uk: no'])
})
