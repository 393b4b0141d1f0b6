// R78 over the whole service: what is kept for a project is bounded, before anything is done for a call.
import { expect, test } from 'vitest'
import { DAY_MS, MINUTE_MS } from '../../src/core/clock.ts'
import { quotaStore } from '../../src/limits/quota-store.ts'
import { withScene } from '../support/inference-scene.ts'

const MAX = 3
const QUOTAS = { kept_answers: MAX, responses: MAX }
const RESPONSES = '/v1/responses'

withScene(
  (scene) => {
    test('R78 429 on a new idempotency key beyond the bound, and nothing is asked or stored; replays go on', async () => {
      const stage = await scene().stage()
      for (let n = 0; n < MAX; n++) expect((await stage.chat({}, { keyed: `k${n}` })).status).toBe(200)
      const asked = stage.one.requests.length
      const before = await stage.audit()
      const refused = await stage.chat({}, { keyed: 'one-more' })
      expect([refused.status, refused.json.error.type, refused.headers['x-should-retry']]).toEqual([
        429,
        'quota_exceeded',
        'false',
      ])
      expect(refused.json.error.message).toContain('as many kept answers as it may have (3)')
      expect([stage.one.requests.length, await stage.audit()]).toEqual([asked, before])
      expect(await stage.keyState('one-more')).toBe('free')

      const replay = await stage.chat({}, { keyed: 'k0' })
      expect([replay.status, replay.headers['agent-idempotent-replay']]).toEqual([200, 'true'])
      expect((await stage.chat()).status).toBe(200)
      expect((await stage.post('/v2/agent-hints', { qos: {} }, { 'agent-idempotency-key': 'h' })).status).toBe(429)
      const other = await scene().stage()
      expect((await other.chat({}, { keyed: 'k0' })).status).toBe(200)

      scene().clock.advance(DAY_MS)
      await scene().housekeep('sweep kept responses')
      scene().clock.advance(MINUTE_MS)
      expect((await stage.chat({}, { keyed: 'one-more' })).status).toBe(200)
    })

    test('R79 what the operator says for one project goes before that: kept answers and mails', async () => {
      const stage = await scene().stage()
      const quotas = quotaStore(scene().db)
      await quotas.setMax(stage.project.id, 'kept_answers', 1)
      await quotas.setMax(stage.project.id, 'mails_per_day', 2)
      const kept = [await stage.chat({}, { keyed: 'k0' }), await stage.chat({}, { keyed: 'k1' })]
      expect(kept.map(({ status }) => status)).toEqual([200, 429])
      expect(kept[1]?.json.error.message).toContain('as many kept answers as it may have (1)')
      const sent: number[] = []
      for (const email of ['a@example.com', 'b@example.com', 'c@example.com'])
        sent.push((await stage.post('/v2/members/invitations', { email, role: 'viewer' })).status)
      expect(sent).toEqual([200, 200, 429])
    })

    test('R78 429 on a response to store beyond the bound, before anything is asked; unstored ones go on', async () => {
      const stage = await scene().stage()
      const respond = (more: object = {}) =>
        stage.ask(RESPONSES, { body: { model: stage.model, input: 'hi', ...more } })
      const first = await respond()
      for (let n = 1; n < MAX; n++) expect((await respond()).status).toBe(200)
      const asked = stage.one.requests.length
      const refused = await respond()
      expect([refused.status, refused.json.error.type]).toEqual([429, 'quota_exceeded'])
      expect(refused.json.error.message).toContain('as many stored responses as it may have (3)')
      expect(stage.one.requests).toHaveLength(asked)
      expect((await respond({ store: false })).status).toBe(200)
      const { clock } = scene()
      clock.advance(MINUTE_MS)
      expect((await respond()).status).toBe(429)
      await stage.ask(`${RESPONSES}/${first.json.id}`, { method: 'DELETE' })
      clock.advance(MINUTE_MS)
      expect((await respond()).status).toBe(200)
    })
  },
  { stages: 6, config: { quotas: QUOTAS } },
)
