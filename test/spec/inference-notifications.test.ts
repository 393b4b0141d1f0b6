// What calls are told of over the whole path: thresholds of limits in the transaction of the charge, overage, refused
// credentials, targets that are left alone.
import { hash } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts'
import { sealing } from '../../src/core/sealing.ts'
import { outboxStore } from '../../src/mail/outbox-store.ts'
import { sql } from '../../src/storage/db.ts'
import { USUAL_COST, withScene } from '../support/inference-scene.ts'
import { SECRET } from '../support/service.ts'
import { countStatements } from '../support/tampered-db.ts'
import { rollEverything } from '../support/usage-answers.ts'
import { type Receiver, webhookReceiver } from '../support/webhook-receiver.ts'

const CHANNELS = '/v2/notification-channels'
const usdOf = (micros: number) => micros / 1e6

withScene((scene) => {
  const receivers: Receiver[] = []
  afterAll(() => Promise.all(receivers.map((receiver) => receiver.close())))

  async function listening(limits: { key?: number; project?: number } = {}) {
    const [stage, receiver] = [await scene().stage(limits), await webhookReceiver()]
    receivers.push(receiver)
    const made = await stage.post(CHANNELS, { kind: 'webhook', name: 'ops', url: receiver.url })
    return { ...stage, receiver, channel_id: made.body.id as string }
  }

  async function told({ receiver }: { receiver: Receiver }) {
    await scene().housekeep('deliver notifications')
    await scene().notifications.settled()
    return receiver.received.map(({ body }) => JSON.parse(body))
  }

  const spentIs = (table: 'api_key' | 'project', id: string, micros: number) =>
    table === 'api_key'
      ? scene().db.rows(sql`UPDATE api_key SET spent_micros = ${micros} WHERE id = ${id}`)
      : scene().db.rows(sql`UPDATE project SET spent_micros = ${micros} WHERE id = ${id}`)

  test('§notifications 50 and 80 % of a key’s and the project’s limit are told, each once, in their order', async () => {
    const stage = await listening()
    await stage.post(`/v2/api-keys/${stage.key_id}/budget`, { limit_usd: 1 })
    await stage.post('/v2/project/cap', { limit_usd: 2 })
    for (const pct of [50, 80]) {
      await spentIs('api_key', stage.key_id, pct * 1e4 - 1)
      await spentIs('project', stage.project.id, pct * 2e4 - 2 * USUAL_COST)
      for (let n = 0; n < 3; n++) expect((await stage.chat()).status).toBe(200)
    }
    const events = await told(stage)
    expect(events.map(({ type, subject, data }) => [type, subject, data.limit, data.threshold_pct])).toEqual([
      ['budget.threshold', stage.key_id, 'key', 50],
      ['budget.threshold', stage.project.id, 'project', 50],
      ['budget.threshold', stage.key_id, 'key', 80],
      ['budget.threshold', stage.project.id, 'project', 80],
    ])
    expect(events[0].data).toMatchObject({ limit_micros: 1e6, spent_micros: 5e5 - 1 + USUAL_COST })
  })

  test('§notifications a limit that a call does not fit into is told of once a day', async () => {
    const stage = await listening({ key: USUAL_COST })
    for (let day = 0; day < 2; day++) {
      for (let n = 0; n < 3; n++) expect((await stage.chat({ max_tokens: 500 })).status).toBe(429)
      for (let twice = 0; twice < 2; twice++) await scene().housekeep('tell of budgets that refuse')
      await told(stage)
      scene().clock.advance(DAY_MS)
    }
    const events = await told(stage)
    expect(events.map(({ type, subject, data }) => [type, subject, data.limit, data.limit_micros])).toEqual([
      ['budget.refused', stage.key_id, 'key', USUAL_COST],
      ['budget.refused', stage.key_id, 'key', USUAL_COST],
    ])
  })

  test('R64 a child that has used what it was given is not told of; its parent is, for its own calls', async () => {
    const stage = await listening()
    await stage.post(`/v2/api-keys/${stage.key_id}/budget`, { limit_usd: usdOf(2 * USUAL_COST) })
    const run = { name: 'run', limit_usd: usdOf(USUAL_COST), ttl_seconds: 60 }
    const { id, key } = (await stage.post(`/v2/api-keys/${stage.key_id}/children`, run)).body
    const refusedBy = async (raw?: string) => {
      const headers = raw === undefined ? {} : { headers: { authorization: `Bearer ${raw}` } }
      expect((await stage.chat({ max_tokens: 500 }, headers)).status).toBe(429)
      await scene().housekeep('tell of budgets that refuse')
      return (await told(stage)).map(({ subject }) => subject)
    }
    expect(await refusedBy(key)).toEqual([])
    expect(await refusedBy()).toEqual([stage.key_id])
    const marks = await scene().db.rows<{ mark: string }>(sql`
      SELECT mark FROM notification_mark WHERE project_id = ${stage.project.id}`)
    expect(marks.filter(({ mark }) => mark.includes(id))).toEqual([])
  })

  test('R78 what one project’s calls find out takes no place of what others’ do', async () => {
    const [many, stage] = [await scene().stage(), await listening({ key: USUAL_COST })]
    const { onBudgetRefused, onCircuit } = scene().notifications.noted
    const project_id = many.project.id
    for (let n = 0; n < 6_000; n++) {
      onBudgetRefused({ project_id, key_id: `key_${n}`, limit: 'key' })
      onCircuit({ target: `cluster:byc_${n}`, left_by: 'everyone', project_id, is_open: true })
    }
    expect((await stage.chat({ max_tokens: 500 })).status).toBe(429)
    onCircuit({ target: 'provider:of-all', left_by: 'everyone', project_id, is_open: true })
    for (const task of ['tell of budgets that refuse', 'tell of targets left alone']) await scene().housekeep(task)
    expect((await told(stage)).map(({ type, subject }) => [type, subject])).toEqual([
      ['budget.refused', stage.key_id],
      ['provider.left_alone', 'provider:of-all'],
    ])
  })

  /** As by a mail to the owner of its project. */
  async function toldByMail() {
    const stage = await scene().stage({ key: USUAL_COST })
    const [owner] = await scene().db.rows<{ email: string }>(sql`
      SELECT p.email FROM person p JOIN project j ON j.owner_id = p.id WHERE j.id = ${stage.project.id}`)
    await stage.post(CHANNELS, { kind: 'mail', name: 'me', email: owner?.email })
    async function mailed(): Promise<string> {
      await scene().housekeep('deliver notifications')
      await scene().notifications.settled()
      const posted = await outboxStore(scene().db, sealing(SECRET)).take(scene().clock.now())
      return posted?.mail?.text ?? ''
    }
    return { ...stage, mailed }
  }

  test('R78 a key’s name brings no link and no line of its own into a mail', async () => {
    const stage = await toldByMail()
    const name = `ci.prod $& - your account is closed: https://evil.example/${'x'.repeat(100)}`
    expect((await stage.patch(`/v2/api-keys/${stage.key_id}`, { name })).body.name).toBe(name)
    expect((await stage.chat({ max_tokens: 500 })).status).toBe(429)
    await scene().housekeep('tell of budgets that refuse')
    const text = await stage.mailed()
    const said = `ci dot prod & - your account is closed https evil dot exampl`
    expect(text).toContain(`of the limit of the key ${said} of $`)
    expect(text.split('\n')).toContain(`name: ${said}`)
    expect(text).not.toMatch(/evil\.example|:\/\//)
  })

  test('R78 nor does the place where a key was found, which whoever reports it chose', async () => {
    const stage = await toldByMail()
    const where = 'https://evil.example/log-in is where www.evil.example says so'
    const sha256 = hash('sha256', stage.key, 'base64url')
    expect((await stage.post('/v2/leaked-keys', { sha256, where })).status).toBe(200)
    const text = await stage.mailed()
    expect(text.split('\n')).toContain('where: https evil dot example log-in is where www dot evil dot exam')
    expect(text).not.toMatch(/evil\.example|:\/\//)
  })

  test('§notifications calls at once cross each threshold once', async () => {
    const stage = await listening({ key: 1_000 * USUAL_COST })
    await stage.post(`/v2/api-keys/${stage.key_id}/budget`, { limit_usd: usdOf(100_000 * USUAL_COST) })
    await scene().db.rows(sql`
      UPDATE api_key SET spent_micros = ${49_990 * USUAL_COST} WHERE id = ${stage.key_id}`)
    await Promise.all(Array.from({ length: 40 }, () => stage.chat()))
    expect((await told(stage)).map(({ data }) => data.threshold_pct)).toEqual([50])
  })

  test('§notifications a threshold that is not crossed costs a call no statement', async () => {
    const [with_limit, without] = [await listening({ key: 1e9, project: 1e9 }), await listening()]
    const noted = countStatements(scene().tampering)
    for (const stage of [with_limit, without]) {
      const statements = await noted.while(() => stage.chat())
      expect(statements.filter((text) => /notification_|event_sequence/.test(text))).toEqual([])
    }
    delete scene().tampering.rows
  })

  test('R72 a project that passes its cap with overage is told of it once', async () => {
    const stage = await listening()
    await stage.post('/v2/project/cap', { limit_usd: usdOf(3 * USUAL_COST - 1), overage_enabled: true })
    for (let n = 0; n < 5; n++) await stage.chat()
    const events = await told(stage)
    expect(events.map(({ type, data }) => [type, data.threshold_pct])).toEqual([
      ['budget.threshold', 50],
      ['project.overage', undefined],
    ])
  })

  test('R64 a child’s charges count for its parent', async () => {
    const stage = await listening()
    await stage.post(`/v2/api-keys/${stage.key_id}/budget`, { limit_usd: usdOf(1e6) })
    const child = await stage.post(`/v2/api-keys/${stage.key_id}/children`, {
      ...{ name: 'run', limit_usd: usdOf(1e5), ttl_seconds: 3_600 },
    })
    expect(child.status).toBe(200)
    await scene().db.rows(sql`
      UPDATE api_key SET spent_micros = ${5e5 - 1} WHERE id = ${stage.key_id}`)
    const by_child = { authorization: `Bearer ${child.body.key}` }
    expect((await stage.chat({}, { headers: by_child })).status).toBe(200)
    expect((await told(stage)).map(({ subject, data }) => [subject, data.threshold_pct])).toEqual([[stage.key_id, 50]])
  })

  test('R78 a target that is left alone is told of, and when it is back', async () => {
    const stage = await listening()
    stage.one.behave({ status: 500 })
    for (let n = 0; n < 5; n++) await stage.chat()
    await scene().housekeep('tell of targets left alone')
    const left = await told(stage)
    expect(left.map(({ type, subject }) => [type, subject])).toEqual([
      ['provider.left_alone', `provider:${stage.first}`],
    ])
    stage.one.behave({})
    scene().clock.advance(31_000)
    expect((await stage.chat()).status).toBe(200)
    await scene().housekeep('tell of targets left alone')
    expect((await told(stage)).map(({ type }) => type)).toEqual(['provider.left_alone', 'provider.back'])
  })

  test('§notifications an hour that spends far more than the same hour of the weeks before, told once', async () => {
    const stage = await listening()
    const now = scene().clock.now()
    const hour = Math.floor(now / HOUR_MS) * HOUR_MS
    await scene().db.rows(sql`
      UPDATE project SET created_at = '2020-01-01T00:00:00.000Z' WHERE id = ${stage.project.id}`)
    await stage.chat()
    await rollEverything(scene().db)
    await scene().db.rows(sql`
      UPDATE usage_rollup SET charged_micros = 90000000 WHERE project_id = ${stage.project.id} AND cube = 'hour:total'`)
    scene().clock.advance(hour + HOUR_MS + HOUR_MS / 6 - now)
    for (let twice = 0; twice < 2; twice++) await scene().housekeep('look for spending anomalies')
    const events = await told(stage)
    expect(events.map(({ type, data }) => [type, data.spent_micros, data.usual_micros])).toEqual([
      ['spend.anomaly', 90_000_000, 0],
    ])
  })
})
