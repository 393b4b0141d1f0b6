// /v2/notification-channels over HTTP: who is told, how it is signed, tried again, kept in order and bounded.
import { hash } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../src/core/clock.ts'
import { TESTS_MAX } from '../../src/notifications/delivery-store.ts'
import { LOG_MAX } from '../../src/notifications/notification-delivery.ts'
import { noGateway } from '../../src/start/gateway-settings.ts'
import { sql } from '../../src/storage/db.ts'
import { KEPT_TRYING_MS, tell, WAITING_MAX } from '../../src/storage/telling.ts'
import { contentsOf } from '../support/databases.ts'
import { startService, type TestProject, withService } from '../support/service.ts'
import { mutateSql, type Tampering } from '../support/tampered-db.ts'
import { type Receiver, webhookReceiver } from '../support/webhook-receiver.ts'

const CHANNELS = '/v2/notification-channels'
const settings = { ...noGateway(), policy: { allow_private: true, allow_cidrs: [] } }
const tampering: Tampering = {}

withService(
  (service) => {
    const receivers: Receiver[] = []
    afterAll(() => Promise.all(receivers.map((receiver) => receiver.close())))
    beforeEach(() => {
      delete tampering.rows
    })

    async function listening(more: object = {}) {
      const [project, receiver] = [await service().newProject(), await webhookReceiver()]
      receivers.push(receiver)
      const body = { kind: 'webhook', name: 'ops', url: receiver.url, ...more }
      const channel = (await project.post(CHANNELS, body)).body
      return { ...project, receiver, channel, path: `${CHANNELS}/${channel.id}` }
    }

    /** One turn of the sender, to its end. */
    async function deliver(): Promise<void> {
      await service().housekeep('deliver notifications')
      await service().notifications.settled()
    }

    const happen = (project_id: string, subject: string, n = 0) =>
      service().db.transaction((tx) =>
        tell(
          tx,
          { project_id, type: 'cluster.down', subject, sentence: 'It is down.', data: { n } },
          service().clock.now(),
        ),
      )

    const told = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body))
    const log = async ({ get, path }: { get: TestProject['get']; path: string }, query = '') =>
      (await get(`${path}/deliveries${query}`)).body.data

    test('§notifications a webhook is signed as Standard Webhooks says, and its library takes it', async () => {
      const { channel, receiver, post } = await listening()
      expect(channel).toMatchObject({ object: 'notification_channel', kind: 'webhook', status: 'active', events: null })
      expect(channel.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      const { id } = (await post('/v2/byoc/clusters', { name: 'blue', region: 'eu' })).body
      await post(`/v2/byoc/clusters/${id}/heartbeat`, { status: 'active' })
      await post(`/v2/byoc/clusters/${id}/heartbeat`, { status: 'down' })
      await deliver()
      const [first, ...others] = receiver.received
      const { headers, body } = first as Receiver['received'][number]
      expect(others).toEqual([])
      const at_s = Math.floor(service().clock.now() / SECOND_MS)
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-timestamp': String(at_s) })
      const library = new Webhook(channel.secret)
      expect(library.sign(String(headers['webhook-id']), new Date(at_s * SECOND_MS), body)).toBe(
        headers['webhook-signature'],
      )
      expect(JSON.parse(body)).toMatchObject({
        type: 'cluster.down',
        subject: id,
        id: headers['webhook-id'],
        data: { id, name: 'blue', from: 'active', to: 'down', why: 'heartbeat' },
      })
    })

    test('§notifications the secret is shown once, and nothing of it or of a Slack address lies in the store', async () => {
      const { channel, get, post, path } = await listening()
      const slack = 'https://hooks.slack.example/services/T000/B000/veryverysecretpart'
      const made = (await post(CHANNELS, { kind: 'slack', name: 'team', url: slack })).body
      expect([made.target, made.secret]).toEqual(['https://hooks.slack.example/…', undefined])
      for (const answer of [await get(CHANNELS), await get(path)])
        expect(JSON.stringify(answer.body)).not.toContain('whsec_')
      const stored = await contentsOf(service().db)
      for (const secret of [channel.secret.slice(6), 'veryverysecretpart']) expect(stored).not.toContain(secret)
    })

    test('§notifications after a rotation both secrets sign for a day, then the new one alone', async () => {
      const { channel, receiver, post, path, project } = await listening()
      const { secret } = (await post(`${path}/rotate-secret`)).body
      expect(secret).not.toBe(channel.secret)
      const signaturesAfter = async (ms: number) => {
        service().clock.advance(ms)
        await happen(project.id, 'one')
        await deliver()
        const { headers, body } = receiver.received.at(-1) as Receiver['received'][number]
        const at = new Date(Number(headers['webhook-timestamp']) * SECOND_MS)
        const by = (key: string) => new Webhook(key).sign(String(headers['webhook-id']), at, body)
        return { told: headers['webhook-signature'], fresh: by(secret), old: by(channel.secret) }
      }
      const within = await signaturesAfter(0)
      expect(within.told).toBe(`${within.fresh} ${within.old}`)
      const after = await signaturesAfter(DAY_MS)
      expect(after.told).toBe(after.fresh)
    })

    test('§notifications it hears what it asked for, and nobody else’s', async () => {
      const [one, two] = [await listening({ events: ['cluster.up'] }), await listening()]
      await happen(one.project.id, 'down-only')
      await happen(two.project.id, 'two')
      await deliver()
      expect([one.receiver.received.length, told(two.receiver).map(({ subject }) => subject)]).toEqual([0, ['two']])
      const change = (await one.patch(one.path, { events: ['cluster.down', 'cluster.up'] })).body
      expect(change.events).toEqual(['cluster.down', 'cluster.up'])
      await happen(one.project.id, 'down-only')
      await one.patch(one.path, { status: 'paused' })
      await happen(one.project.id, 'while paused')
      await deliver()
      expect(one.receiver.received.length).toBe(0)
      await one.patch(one.path, { status: 'active' })
      await deliver()
      expect(told(one.receiver).map(({ subject }) => subject)).toEqual(['down-only'])
    })

    test('§notifications an event of a transaction that failed is never told', async () => {
      const { project, receiver } = await listening()
      const failing = service().db.transaction(async (tx) => {
        await tell(tx, { project_id: project.id, type: 'cluster.down', subject: 's', sentence: '', data: {} }, 0)
        throw new Error('stop')
      })
      await expect(failing).rejects.toThrow('stop')
      await deliver()
      expect(receiver.received).toEqual([])
    })

    test('§notifications a failure is tried again under the same id, later and later, and told in the log', async () => {
      const { project, receiver, get, path } = await listening()
      receiver.answer = () => ({ status: 500, body: 'not\u0000now' })
      await happen(project.id, 'one')
      const tries: number[] = []
      for (let second = 0; second < 40; second++) {
        const before = receiver.received.length
        await deliver()
        if (receiver.received.length > before) tries.push(second)
        service().clock.advance(SECOND_MS)
      }
      expect(tries.length).toBeGreaterThanOrEqual(5)
      expect(tries.length).toBeLessThanOrEqual(6) // 1, 2, 4, 8, 16 s, with up to a quarter more
      expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
      expect((await log({ get, path }))[0]).toMatchObject({
        status: 'waiting',
        attempts: tries.length,
        answer_status: 500,
        answer: 'notnow',
        error: 'It answered 500.',
      })
      receiver.answer = () => ({ status: 204 })
      service().clock.advance(MINUTE_MS)
      await deliver()
      expect((await log({ get, path }))[0]).toMatchObject({
        status: 'delivered',
        answer_status: 204,
        next_try_at: null,
      })
    })

    test('§notifications a receiver that is away is left alone as a whole, and well with the first that it takes', async () => {
      const { project, receiver, get, path, patch } = await listening()
      await patch(path, { url: 'http://127.0.0.1:9/closed' })
      for (let n = 0; n < 20; n++) await happen(project.id, `s${n}`)
      await deliver()
      expect((await get(path)).body).toMatchObject({ failures: 1, next_try_at: expect.any(String) })
      const tried = (await log({ get, path })).filter(({ attempts }: { attempts: number }) => attempts > 0)
      expect(tried.length).toBeLessThanOrEqual(8)
      service().clock.advance(2 * SECOND_MS)
      await deliver()
      expect((await get(path)).body.failures).toBe(2)
      await patch(path, { url: receiver.url })
      for (let turn = 0; turn < 3; turn++) {
        service().clock.advance(10 * SECOND_MS)
        await deliver()
      }
      expect((await get(path)).body).toMatchObject({ failures: 0, next_try_at: null })
      expect(new Set(told(receiver).map(({ subject }) => subject)).size).toBe(20)
    })

    test('§notifications after a day it is given up, and what came later goes on', async () => {
      const { project, receiver, get, path } = await listening()
      receiver.answer = () => ({ status: 500 })
      await happen(project.id, 'one', 1)
      await deliver()
      service().clock.advance(KEPT_TRYING_MS)
      receiver.answer = () => ({ status: 200 })
      await happen(project.id, 'one', 2)
      await deliver()
      expect(told(receiver).map(({ data }) => data.n)).toEqual([1, 2])
      expect((await log({ get, path })).map(({ status }: { status: string }) => status)).toEqual([
        'delivered',
        'failed',
      ])
    })

    /** Answers that fail now and then, over turns: how each subject's events came, each at its first time. */
    async function arrivals(): Promise<Map<string, number[]>> {
      const { project, receiver } = await listening()
      let asked = 0
      receiver.answer = () => ({ status: asked++ % 3 === 1 ? 503 : 200 })
      for (let n = 0; n < 30; n++) await happen(project.id, `subject ${n % 3}`, n)
      for (let turn = 0; turn < 60; turn++) {
        await deliver()
        service().clock.advance(MINUTE_MS / 2)
      }
      const taken = receiver.received.filter((_, at) => at % 3 !== 1)
      const [seen, came] = [new Set<unknown>(), new Map<string, number[]>()]
      for (const { body, headers } of taken) {
        if (seen.has(headers['webhook-id'])) continue
        seen.add(headers['webhook-id'])
        const { subject, data } = JSON.parse(body)
        came.set(subject, [...(came.get(subject) ?? []), data.n])
      }
      return came
    }
    const inOrder = (numbers: number[]) => numbers.every((n, at) => at === 0 || n > (numbers[at - 1] as number))

    test('§notifications retries never change the order of a subject; planted: one that overtakes is caught', async () => {
      const came = await arrivals()
      expect([...came.values()].map((numbers) => numbers.length)).toEqual([10, 10, 10])
      expect([...came.values()].every(inOrder)).toBe(true)
      mutateSql(tampering, 'f.subject = d.subject', 'f.id = d.id', /FROM notification_delivery d/)
      const planted = await arrivals()
      expect([...planted.values()].every(inOrder)).toBe(false)
    })

    test('R78 a subject that fails holds back itself alone', async () => {
      const { project, receiver } = await listening()
      receiver.answer = ({ body }) => ({ status: JSON.parse(body).subject === 'bad' ? 500 : 200 })
      await happen(project.id, 'bad', 1)
      await happen(project.id, 'bad', 2)
      for (let n = 0; n < 5; n++) await happen(project.id, `good ${n}`, n)
      await deliver()
      const subjects = told(receiver).map(({ subject }) => subject)
      expect(subjects.filter((subject) => subject === 'bad')).toHaveLength(1)
      expect(subjects.filter((subject) => subject !== 'bad')).toHaveLength(5)
    })

    test('R78 a receiver that never answers delays nobody else', async () => {
      const [silent, other] = [await listening(), await listening()]
      silent.receiver.answer = () => undefined
      for (let n = 0; n < 20; n++) await happen(silent.project.id, `s${n}`)
      await service().housekeep('deliver notifications')
      await happen(other.project.id, 'one')
      await service().housekeep('deliver notifications')
      await expect.poll(() => other.receiver.received.length, { timeout: 5_000 }).toBe(1)
      silent.receiver.answer = () => ({ status: 200 })
      await silent.receiver.close() // what is under way fails
      await service().notifications.settled()
    })

    test('§notifications 410 ends a channel until somebody makes it active', async () => {
      const { project, receiver, get, path, patch, post } = await listening()
      receiver.answer = () => ({ status: 410 })
      await happen(project.id, 'one')
      await deliver()
      expect((await get(path)).body.status).toBe('disabled')
      await happen(project.id, 'two')
      expect((await service().storingNothing(() => post(`${path}/test`))).status).toBe(400)
      receiver.answer = () => ({ status: 200 })
      await patch(path, { status: 'active' })
      service().clock.advance(MINUTE_MS)
      await deliver()
      expect(told(receiver).map(({ subject }) => subject)).toEqual(['one', 'one'])
    })

    test('T-84 a redirect is not followed', async () => {
      const { project, receiver, get, path } = await listening()
      receiver.answer = () => ({ status: 302, headers: { location: '/elsewhere' } })
      await happen(project.id, 'one')
      await deliver()
      expect(receiver.received.map(({ path: at }) => at)).toEqual(['/hook'])
      expect((await log({ get, path }))[0]).toMatchObject({ status: 'waiting', answer_status: 302 })
    })

    test('§notifications test and redeliver: to this channel alone, under an id that stays', async () => {
      const { receiver, get, path, post } = await listening({ events: ['key.expiring'] })
      const sent = (await post(`${path}/test`)).body
      expect(sent).toMatchObject({ type: 'test', status: 'waiting', attempts: 0 })
      await deliver()
      expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([sent.event_id])
      const again = (await post(`${path}/deliveries/${sent.id}/redeliver`)).body
      expect(again).toMatchObject({ id: sent.id, status: 'waiting', attempts: 0 })
      await deliver()
      expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([sent.event_id, sent.event_id])
      expect(await log({ get, path }, '?status=delivered')).toHaveLength(1)
      expect(await log({ get, path }, '?status=waiting')).toEqual([])
      expect((await post(`${path}/deliveries/dlv_none/redeliver`)).status).toBe(404)
    })

    test('§8.2 the log by pages, newest first', async () => {
      const { project, get, path } = await listening()
      for (let n = 0; n < 5; n++) await happen(project.id, `s${n}`)
      const subjects = (data: { subject: string }[]) => data.map(({ subject }) => subject)
      const first = (await get(`${path}/deliveries?limit=2`)).body
      expect([subjects(first.data), first.has_more]).toEqual([['s4', 's3'], true])
      const second = (await get(`${path}/deliveries?limit=10&after=${first.data[1].id}`)).body
      expect([subjects(second.data), second.has_more]).toEqual([['s2', 's1', 's0'], false])
      expect(subjects(await log({ get, path }, `?after=${first.data[1].id}`))).toEqual(['s2', 's1', 's0'])
      for (const query of ['?limit=0', '?after=dlv_none', '?status=lost'])
        expect((await get(`${path}/deliveries${query}`)).status).toBe(400)
    })

    test('R70 a channel has so many waiting; what comes beyond is in the log, and not sent', async () => {
      const { project, get, path, channel } = await listening()
      await service().db.rows(sql`
        INSERT INTO notification_delivery (id, project_id, channel_id, event_id, type, subject, sequence, payload,
                                           status, attempts, due_at, expires_at, created_ms)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${WAITING_MAX})
        SELECT 'dlv_full' || ${channel.id} || CAST(i AS TEXT), CAST(${project.id} AS TEXT), CAST(${channel.id} AS TEXT),
               'evt_x', 'test', 'x', -i, '{}', 'waiting', 1, CAST(${Number.MAX_SAFE_INTEGER} AS BIGINT), 0, 0 FROM n`)
      await happen(project.id, 'one too many')
      expect((await log({ get, path }, '?status=dropped')).map(({ subject }: { subject: string }) => subject)).toEqual([
        'one too many',
      ])
      for (let n = 0; n < 5; n++) await happen(project.id, 'many more')
      expect(await log({ get, path }, '?status=dropped')).toHaveLength(1) // R78: what waits is not counted for each
      service().clock.advance(10 * SECOND_MS)
      await happen(project.id, 'later')
      expect(await log({ get, path }, '?status=dropped')).toHaveLength(2)
      await service().db.rows(sql`DELETE FROM notification_delivery WHERE channel_id = ${channel.id}`)
    })

    test('R70 of tests that nobody takes a hundred wait; one more is 429, and another channel has its own', async () => {
      const { post, path } = await listening()
      for (let n = 0; n < TESTS_MAX; n++) expect((await post(`${path}/test`)).status).toBe(200)
      const { status, body } = await post(`${path}/test`)
      expect([status, body.error.type]).toEqual([429, 'quota_exceeded'])
      const other = await listening()
      expect((await other.post(`${other.path}/test`)).status).toBe(200)
      await deliver()
      expect((await post(`${path}/test`)).status).toBe(200)
      await deliver()
    })

    test('R70 the log is swept by age and number', async () => {
      const { project, get, path } = await listening()
      await happen(project.id, 'old')
      await deliver()
      service().clock.advance(8 * DAY_MS)
      await happen(project.id, 'new')
      await service().housekeep('sweep notifications')
      expect((await log({ get, path })).map(({ subject }: { subject: string }) => subject)).toEqual(['new'])
      await deliver()
    })

    test('§notifications keys that expire are told a week and a day before, once each', async () => {
      const { post, receiver } = await listening()
      const expires_at = new Date(service().clock.now() + 10 * DAY_MS).toISOString()
      const { id } = (await post('/v2/api-keys', { name: 'short', expires_at })).body
      const days: number[] = []
      for (let day = 0; day < 11; day++) {
        const before = receiver.received.length
        for (let twice = 0; twice < 2; twice++) await service().housekeep('tell of keys that expire')
        await deliver()
        for (const { type, subject } of told(receiver).slice(before)) {
          expect([type, subject]).toEqual(['key.expiring', id])
          days.push(day)
        }
        service().clock.advance(DAY_MS)
      }
      expect(days).toEqual([3, 9])
    })

    test('§notifications a key that is reported by its hash is told of once a day, and the reporter learns nothing', async () => {
      const [owner, other] = [await listening(), await service().newProject()]
      const sha256 = hash('sha256', owner.key, 'base64url')
      const answers = [
        await other.post('/v2/leaked-keys', { sha256, where: 'a public repository' }),
        await other.post('/v2/leaked-keys', { sha256 }),
        await other.post('/v2/leaked-keys', { sha256: hash('sha256', 'nobody’s', 'base64url') }),
      ]
      expect(new Set(answers.map(({ bytes }) => bytes.toString())).size).toBe(1)
      await deliver()
      expect(told(owner.receiver)).toMatchObject([
        { type: 'key.leaked', subject: owner.key_id, data: { where: 'a public repository' } },
      ])
      expect((await service().storingNothing(() => other.post('/v2/leaked-keys', { sha256: owner.key }))).status).toBe(
        400,
      )
    })

    test('R78 reported children of a key are told of once a day, all of them together, and hide no report of their key', async () => {
      const owner = await listening()
      const { id, key } = (await owner.post('/v2/api-keys', { name: 'ci', scopes: ['inference', 'read'] })).body
      const agent = service().as(key)
      const report = (secret: string) =>
        agent.post('/v2/leaked-keys', { sha256: hash('sha256', secret, 'base64url'), where: 'a log' })
      const reportChild = async (n: number) => {
        const run = { name: `run ${n}`, limit_usd: 0, ttl_seconds: 60 }
        const child = (await agent.post(`/v2/api-keys/${id}/children`, run)).body
        expect((await report(child.key)).status).toBe(200)
        return child.id
      }
      const first = await reportChild(0)
      for (let n = 1; n < 5; n++) await reportChild(n)
      for (let n = 0; n < 2; n++) await report(key)
      await deliver()
      service().clock.advance(DAY_MS)
      const next = await reportChild(5)
      await reportChild(6)
      await deliver()
      const in_order = told(owner.receiver).toSorted((one, other) => one.sequence - other.sequence)
      expect(in_order.map(({ subject }) => subject)).toEqual([first, id, next])
      expect(new Set(in_order.map(({ type }) => type))).toEqual(new Set(['key.leaked']))
    })

    test('§notifications a cluster that is down, back, slow and well again is told of, in this order', async () => {
      const { post, receiver } = await listening()
      const { id } = (await post('/v2/byoc/clusters', { name: 'blue', region: 'eu' })).body
      const beat = (status: string, ttft_p95_ms?: number) =>
        post(`/v2/byoc/clusters/${id}/heartbeat`, { status, ...(ttft_p95_ms && { load: { ttft_p95_ms } }) })
      for (const ttft of [100, 501, 700, 450, 399]) await beat('active', ttft)
      service().clock.advance(2 * MINUTE_MS)
      await service().housekeep('sweep silent clusters')
      await beat('draining')
      await deliver()
      expect(told(receiver).map(({ type, data }) => [type, data.why ?? data.ttft_p95_ms])).toEqual([
        ['cluster.slow', 501],
        ['cluster.recovered', 399],
        ['cluster.down', 'sweep'],
        ['cluster.up', 'heartbeat'],
      ])
    })

    test('§notifications a purge that has finished is told of', async () => {
      const { post, receiver } = await listening()
      const job = (await post('/v2/purge-jobs', { filter: { everything: true }, confirm: 'home', mode: 'erase' })).body
      await service().housekeep('run purge jobs')
      await deliver()
      expect(told(receiver)).toMatchObject([
        { type: 'purge.finished', subject: job.id, data: { status: 'succeeded', error: null } },
      ])
    })

    test('R73 a credential that its provider refuses is told of', async () => {
      const { post, receiver } = await listening()
      const ours = { provider: 'openai', name: 'ours', secret: 'sk-of-our-own' }
      const { id } = (await post('/v2/provider-credentials', ours)).body
      await post(`/v2/provider-credentials/${id}/verify`)
      await deliver()
      expect(told(receiver)).toMatchObject([{ type: 'credential.refused', subject: id, data: { provider: 'openai' } }])
    })

    test('R70 of a log, the last ten thousand are kept', async () => {
      const { project, get, path, channel } = await listening()
      await service().db.rows(sql`
        INSERT INTO notification_delivery (id, project_id, channel_id, event_id, type, subject, sequence, payload,
                                           status, attempts, due_at, expires_at, created_ms)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${LOG_MAX + 5})
        SELECT 'dlv_old' || ${channel.id} || CAST(i AS TEXT), CAST(${project.id} AS TEXT), CAST(${channel.id} AS TEXT),
               'evt_x', 'test', 'x', i, '{}', 'delivered', 1, 0, 0, CAST(${service().clock.now()} AS BIGINT) FROM n`)
      await service().housekeep('trim notification logs')
      const { data } = (await get(`${path}/deliveries`)).body
      expect([data.length, data.at(-1).sequence]).toEqual([LOG_MAX, 6])
      // Else whoever sees to it that nothing was stored would read them too.
      await service().db.rows(sql`DELETE FROM notification_delivery WHERE project_id = ${project.id}`)
    })

    test('§5.8 another project’s channel does not exist', async () => {
      const [one, two] = [await listening(), await service().newProject()]
      const { id } = (await one.post(`${one.path}/test`)).body
      for (const path of ['', '/deliveries']) expect((await two.get(one.path + path)).status).toBe(404)
      for (const path of ['/test', '/rotate-secret', `/deliveries/${id}/redeliver`])
        expect((await service().storingNothing(() => two.post(one.path + path))).status).toBe(404)
      expect((await service().storingNothing(() => two.patch(one.path, { name: 'mine' }))).status).toBe(404)
      expect((await service().storingNothing(() => two.del(one.path))).status).toBe(404)
      expect((await one.del(one.path)).body).toEqual({
        id: one.channel.id,
        object: 'notification_channel.deleted',
        deleted: true,
      })
      expect((await one.get(one.path)).status).toBe(404)
    })

    test('R74 it needs admin', async () => {
      const { keyWith, path } = await listening()
      const weak = service().as(await keyWith('inference', 'read'))
      for (const at of [CHANNELS, path, `${path}/deliveries`]) expect((await weak.get(at)).status).toBe(403)
      expect((await service().storingNothing(() => weak.post(`${path}/test`))).status).toBe(403)
    })

    test.each([
      ['no address', { kind: 'webhook', name: 'x' }, "'url'"],
      ['an address that is none', { kind: 'webhook', name: 'x', url: 'ftp://x' }, "'url'"],
      ['credentials in it', { kind: 'webhook', name: 'x', url: 'https://a:b@x' }, "'url'"],
      ['Slack without TLS', { kind: 'slack', name: 'x', url: 'http://hooks.slack.example/x' }, "'url'"],
      ['a mailbox for a webhook', { kind: 'webhook', name: 'x', url: 'https://x', email: 'a@b' }, "'email'"],
      ['mail to a stranger', { kind: 'mail', name: 'x', email: 'stranger@example.com' }, "'email'"],
      ['mail to nobody', { kind: 'mail', name: 'x' }, "'email'"],
      ['an unknown event', { kind: 'webhook', name: 'x', url: 'https://x', events: ['all'] }, 'events'],
      ['no events', { kind: 'webhook', name: 'x', url: 'https://x', events: [] }, 'events'],
      ['no name', { kind: 'webhook', name: ' ', url: 'https://x' }, "'name'"],
      ['an unknown kind', { kind: 'pager', name: 'x' }, 'kind'],
    ])('§notifications refused, with nothing stored: %s', async (_case, body, named) => {
      const { post } = await service().newProject()
      const answer = await service().storingNothing(() => post(CHANNELS, body))
      expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request_error'])
      expect(answer.body.error.message).toContain(named)
    })

    describe('by mail', () => {
      const waiting = async () => (await service().db.rows(sql`SELECT id FROM mail_outbox`)).length

      test('R78 to a member, within the mails of the day; who has left gets none', async () => {
        const project = await service().newProject()
        const [owner] = await service().db.rows<{ email: string }>(sql`
          SELECT p.email FROM person p JOIN project j ON j.owner_id = p.id WHERE j.id = ${project.project.id}`)
        const { id } = (await project.post(CHANNELS, { kind: 'mail', name: 'me', email: owner?.email })).body
        const before = await waiting()
        await happen(project.project.id, 'one')
        await deliver()
        expect(await waiting()).toBe(before + 1)
        await service().db.rows(sql`UPDATE person SET verified_at = NULL WHERE email = ${owner?.email ?? ''}`)
        await happen(project.project.id, 'two')
        await deliver()
        expect(await waiting()).toBe(before + 1)
        const [last] = await log({ get: project.get, path: `${CHANNELS}/${id}` })
        expect(last).toMatchObject({ status: 'waiting', error: expect.stringContaining('no longer') })
      })
    })
  },
  { parts: { settings, verifyCredential: async () => 'refused' }, tampering },
)

test.each([
  ['loopback', 'http://127.0.0.1:9/'],
  ['a private network', 'http://10.1.2.3/'],
  ['metadata', 'http://169.254.169.254/latest'],
  ['a name that leads to loopback', 'http://localhost:9/'],
])('T-83 not dialled, at any attempt: %s', async (_case, url) => {
  const { post, get, housekeep, notifications } = await startService()
  const { id } = (await post(CHANNELS, { kind: 'webhook', name: 'inside', url })).body
  await post(`${CHANNELS}/${id}/test`)
  await housekeep('deliver notifications')
  await notifications.settled()
  const [{ error, answer_status }] = (await get(`${CHANNELS}/${id}/deliveries`)).body.data
  expect([error, answer_status]).toEqual([expect.stringMatching(/may not be dialled|No connection/), null])
})
