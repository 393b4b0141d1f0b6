// R72 over the whole path: a cap that refuses nothing and counts what is above it, and allowances that are used up.
import { describe, expect, test } from 'vitest'
import { asked, CASES, envelope } from '../support/inference-cases.ts'
import { moneyIn } from '../support/inference-client.ts'
import { type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { rollEverything } from '../support/usage-answers.ts'

const usdOf = (micros: number) => micros / 1e6

withScene((scene) => {
  const capped = async (stage: Stage, cap_micros: number, overage_enabled = true) =>
    expect((await stage.post('/v2/project/cap', { limit_usd: usdOf(cap_micros), overage_enabled })).body).toMatchObject(
      { cap_micros, overage_enabled },
    )

  const overages = async (stage: Stage) => (await stage.audit()).events.map((event) => event.overage_micros)

  const linesOf = async (stage: Stage) =>
    (await stage.get('/v2/attention')).body.data
      .filter(({ kind }: { kind: string }) => kind.startsWith('project_'))
      .map(({ severity, kind, sentence }: Record<string, string>) => [severity, kind, sentence])

  describe('the cap', () => {
    test.each(CASES)('R72 refuses nothing, and what is above it is counted to the micro: $form', async (one) => {
      const stage = await scene().stage()
      await capped(stage, 2 * USUAL_COST + 10)
      for (let n = 0; n < 4; n++) {
        const keyed = one.keyed ? { 'agent-idempotency-key': `n${n}` } : {}
        const heard = await stage.chat({ stream: one.stream }, { headers: keyed })
        expect([heard.status, moneyIn(heard)]).toEqual([200, USUAL_COST])
      }
      expect(await overages(stage)).toEqual([0, 0, USUAL_COST - 10, USUAL_COST])
      expect(await linesOf(stage)).toEqual([['warning', 'project_overage', expect.stringContaining('above its cap')]])
    })

    test('R72 a cap of 0 with overage blocks nothing; without it, everything', async () => {
      const stage = await scene().stage()
      await capped(stage, 0)
      expect((await stage.chat()).status).toBe(200)
      await capped(stage, 0, false)
      expect(envelope(await stage.chat())).toEqual([429, 'quota_exceeded', 'quota_exceeded'])
      expect(await overages(stage)).toEqual([USUAL_COST])
    })

    test('R72 calls that settle together share out exactly what is above the cap', async () => {
      const stage = await scene().stage()
      await capped(stage, 5 * USUAL_COST + 7)
      await Promise.all(Array.from({ length: 12 }, () => stage.chat()))
      const counted = await overages(stage)
      expect(counted.reduce((sum, one) => sum + one, 0)).toBe(7 * USUAL_COST - 7)
      expect(counted.filter((one) => one !== 0 && one !== USUAL_COST)).toEqual([USUAL_COST - 7])
    })

    test('R72 a key’s budget stays hard, to the micro', async () => {
      const stage = await scene().stage({ key: USUAL_COST })
      await capped(stage, 0)
      const refused = await stage.chat()
      expect(envelope(refused)).toEqual([429, 'quota_exceeded', 'quota_exceeded'])
      expect([refused.headers['x-should-retry'], refused.headers['retry-after']]).toEqual(['false', undefined])
      expect((await stage.audit()).spent).toBe(0)
      expect(stage.one.requests).toHaveLength(0)
    })

    test('R72, R64 a child key’s charges count towards it, and its budget may be carved above it', async () => {
      const stage = await scene().stage()
      await capped(stage, 10)
      const { body: child } = await stage.post(`/v2/api-keys/${stage.key_id}/children`, {
        name: 'child',
        limit_usd: 1,
        ttl_seconds: 60,
      })
      const headers = { authorization: `Bearer ${child.key}` }
      for (let n = 0; n < 2; n++) expect((await stage.chat({}, { headers })).status).toBe(200)
      const { events } = await stage.ledger()
      expect(events.map(({ overage_micros }) => overage_micros)).toEqual([USUAL_COST - 10, USUAL_COST])
    })

    test('R72 it is in usage: events, groups, and the table; rolled up or not', async () => {
      const stage = await scene().stage()
      await capped(stage, 10)
      await stage.chat()
      await stage.chat()
      const sums = async () => {
        const { data } = (await stage.get('/v2/usage?group_by=day')).body
        return data.map(({ overage_micros }: { overage_micros: number }) => overage_micros)
      }
      expect(await sums()).toEqual([2 * USUAL_COST - 10])
      await rollEverything(scene().db)
      expect(await sums()).toEqual([2 * USUAL_COST - 10])
      const { data } = (await stage.get('/v2/usage')).body
      expect(data.map((event: { overage_micros: number }) => event.overage_micros)).toEqual([25, 15])
      const table = await stage.get('/v2/usage', { accept: 'text/csv' })
      expect(table.bytes.toString().split('\r\n')[0]).toContain('overage_micros')
    })

    test('R43 without overage it is as hard as ever, and nothing is counted as overage', async () => {
      const stage = await scene().stage({ project: 100_000 })
      await stage.chat()
      expect(await overages(stage)).toEqual([0])
      expect(await linesOf(stage)).toEqual([])
    })
  })

  describe('a subscription', () => {
    async function subscribed(stage: Stage, overage_enabled: boolean | undefined) {
      const plan = { plan: 'pro', provider: stage.first, input_discount_pct: 40, allowance_tokens: 10 }
      await stage.subscribe({ ...plan, ...(overage_enabled !== undefined && { overage_enabled }) })
    }

    test.each([false, undefined])(
      'R72 whose allowance is used up, overage %s: 429, and nobody is billed',
      async (overage_enabled) => {
        const stage = await scene().stage()
        await subscribed(stage, overage_enabled)
        expect((await stage.chat()).headers['agent-execution-profile']).toBe('subscription')
        for (let n = 0; n < 2; n++) {
          const refused = await stage.chat()
          expect(envelope(refused)).toEqual([429, 'quota_exceeded', 'quota_exceeded'])
          expect([refused.headers['x-should-retry'], refused.headers['retry-after']]).toEqual(['false', undefined])
          expect(refused.json.error.message).toContain("the subscription 'pro'")
        }
        expect(stage.one.requests).toHaveLength(1)
        expect((await stage.audit()).events).toHaveLength(1)
        const { data } = (await stage.get('/v2/attention')).body
        const [line] = data.filter(({ kind }: { kind: string }) => kind === 'subscription_used_up')
        expect([line.severity, line.sentence]).toEqual(['critical', expect.stringContaining('only own capacity')])
      },
    )

    test('R72 with overage: managed, at the list price', async () => {
      const stage = await scene().stage()
      await subscribed(stage, true)
      await stage.chat()
      const heard = await stage.chat()
      expect([heard.headers['agent-execution-profile'], moneyIn(heard)]).toEqual(['managed_provider', USUAL_COST])
      expect(heard.headers['agent-execution-mode']).toBe('live')
    })

    test('R72 used up, where the project’s own credential serves the model: it serves, for the fee', async () => {
      const stage = await scene().stage()
      await subscribed(stage, false)
      await stage.chat()
      await stage.post('/v2/provider-credentials', { provider: stage.first, name: 'mine', secret: 'sk-mine' })
      expect((await stage.chat()).headers['agent-execution-profile']).toBe('byok')
    })

    test('R72 used up under an idempotency key: the key is free, and works once there is something to serve it', async () => {
      const stage = await scene().stage()
      await subscribed(stage, false)
      await stage.chat()
      const [keyed] = CASES.filter(({ keyed, stream }) => keyed && !stream)
      if (!keyed) throw new Error('no keyed case')
      expect((await stage.chat(...asked(keyed))).status).toBe(429)
      await stage.post('/v2/provider-credentials', { provider: stage.first, name: 'mine', secret: 'sk-mine' })
      expect((await stage.chat(...asked(keyed))).status).toBe(200)
    })
  })
})
