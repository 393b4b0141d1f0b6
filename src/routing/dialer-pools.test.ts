// Whose calls share connections, and how pools that nobody uses are let go.
import { expect, onTestFinished, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { startUpstream } from '../../test/support/upstream.ts'
import { gate } from '../../test/support/wire.ts'
import { MINUTE_MS } from '../core/clock.ts'
import type { Upstream } from '../providers/upstream.ts'
import { dialerPools, type PoolTerms } from './dialer-pools.ts'

const TIMEOUTS = { first_byte_ms: 5_000, idle_ms: 5_000 }
const NEVER = new AbortController().signal

async function scene() {
  const upstream = await startUpstream()
  const clock = heldClock()
  const pools = dialerPools({ policy: { allow_private: true, allow_cidrs: [] }, clock })
  onTestFinished(async () => {
    await pools.close()
    await upstream.close()
  })
  const poolOf = (owner: string, more: Partial<PoolTerms> = {}) =>
    pools.poolFor({
      owner,
      stays: false,
      base_url: upstream.base_url,
      customer_address: false,
      connections: 1,
      ...more,
    })
  const call = async (pool: Upstream) => {
    const request = { method: 'GET', path: '/models', headers: {}, timeouts: TIMEOUTS } as const
    return (await (await pool.send(request, NEVER)).whole()).length
  }
  return { upstream, clock, pools, poolOf, call }
}

test('§2 a pool is found again by its owner and what it is dialled by', async () => {
  const { pools, poolOf } = await scene()
  const one = poolOf('credential:1')
  expect(poolOf('credential:1')).toBe(one)
  const others = [
    poolOf('credential:2'),
    poolOf('credential:1', { connections: 2 }),
    poolOf('credential:1', { connect_ms: 50 }),
    poolOf('credential:1', { customer_address: true }),
    poolOf('credential:1', { base_url: 'http://127.0.0.1:1/v1' }),
  ]
  expect([new Set([one, ...others]).size, pools.size()]).toEqual([6, 6])
})

test('§2 a pool that nobody used for ten minutes is let go when another is opened, with its connection', async () => {
  const { upstream, clock, pools, poolOf, call } = await scene()
  await call(poolOf('credential:1'))
  await call(poolOf('credential:2'))
  clock.advance(9 * MINUTE_MS)
  const second = poolOf('credential:2')
  clock.advance(MINUTE_MS)
  poolOf('credential:3')
  await upstream.until(() => upstream.open_sockets() === 1)
  expect([pools.size(), poolOf('credential:2')]).toEqual([2, second])
})

test('§2 a call in flight ends as it would, though its pool is let go meanwhile', async () => {
  const { upstream, clock, pools, poolOf, call } = await scene()
  const held = gate()
  upstream.next({ wait: held.promise })
  const slow = call(poolOf('credential:1'))
  await upstream.request(1)
  clock.advance(10 * MINUTE_MS)
  poolOf('credential:2')
  expect(pools.size()).toBe(1)
  held.resolve()
  expect(await slow).toBeGreaterThan(0)
  await upstream.until(() => upstream.open_sockets() === 0)
})

test('§2 however many credentials there are, pools are bounded: the one used last is the last to go', async () => {
  const { pools, poolOf } = await scene()
  const [first, busy] = [poolOf('credential:first'), poolOf('credential:busy')]
  for (let n = 0; n < 2_500; n++) {
    poolOf(`credential:${n}`)
    poolOf('credential:busy')
  }
  expect(pools.size()).toBe(1_000)
  expect([poolOf('credential:busy') === busy, poolOf('credential:first') === first]).toEqual([true, false])
})

test('§2 the operator’s pools stay, however long and however many others come', async () => {
  const { clock, pools, poolOf } = await scene()
  const standing = poolOf('provider:one', { stays: true })
  clock.advance(60 * MINUTE_MS)
  for (let n = 0; n < 1_500; n++) poolOf(`credential:${n}`)
  expect([pools.size(), poolOf('provider:one', { stays: true }) === standing]).toEqual([1_001, true])
})
