import { expect, test } from 'vitest'
import { HOUR_MS } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { chainRoot, prefixChain } from './prefix-chain.ts'
import { seenPrefixes } from './seen-prefixes.ts'

const seals = sealing('a secret for tests, 32 characters or more')
const chain = (messages: unknown[], model = 'm', project = 'prj_a', more = {}) =>
  prefixChain(chainRoot(seals.tenantKey(project), model), { ...more, messages })
const says = (content: unknown, role = 'user') => ({ role, content })

test('§1 repeated work: the next turn repeats all of the last one', () => {
  const seen = seenPrefixes()
  const first = chain([says('be brief', 'system'), says('hello')])
  const second = chain([says('be brief', 'system'), says('hello'), says('hi', 'assistant'), says('and now?')])
  expect(seen.note('prj_a', first, 0)).toBe(0)
  expect(seen.note('prj_a', second, 1)).toBe(first.at(-1)?.tokens)
})

test.each([
  ['an edited message', chain([says('hello!')])],
  ['another model', chain([says('hello')], 'n')],
  ['another project', chain([says('hello')], 'm', 'prj_b')],
  ['other tools', chain([says('hello')], 'm', 'prj_a', { tools: [{}] })],
])('§1 repeated work: %s shares nothing', (_what, other) => {
  const seen = seenPrefixes()
  seen.note('prj_a', chain([says('hello')]), 0)
  expect(seen.note('prj_a', other, 1)).toBe(0)
})

test('§1 a text and its one-part form are the same prompt', () => {
  expect(chain([says('hello')])).toEqual(chain([says([{ type: 'text', text: 'hello' }])]))
})

test('§1 what was seen a day ago is no longer repeated', () => {
  const seen = seenPrefixes()
  seen.note('prj_a', chain([says('hello')]), 0)
  expect(seen.note('prj_a', chain([says('hello')]), 24 * HOUR_MS)).toBe(0)
})

test('§5.8 the chain holds nothing of the prompt', () => {
  expect(JSON.stringify(chain([says('a very secret plan')]))).not.toContain('secret')
})
