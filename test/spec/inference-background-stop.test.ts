// §4.11: background responses and a process that stops: it claims none that it cannot run, and what it has claimed
// already goes back at once, as if nobody had tried.
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { startServer } from '../../src/main.ts'
import { openStore } from '../../src/start/open-store.ts'
import { type OpenDb, sql } from '../../src/storage/db.ts'
import { openCall } from '../support/inference-client.ts'
import { anotherProcess, CHAT, MAX_OUTPUT, PRICES, type Stage, withScene } from '../support/inference-scene.ts'
import { newSettings } from '../support/settings.ts'
import { deferred } from '../support/tampered-db.ts'
import { startUpstream } from '../support/upstream.ts'

const RESPONSES = '/v1/responses'
const DRAIN_MS = 3_000

const jobsIn = (db: OpenDb) =>
  db.rows<{ id: string; status: string; attempts: number }>(sql`
    SELECT id, status, attempts FROM background_response ORDER BY sequence`)

withScene(
  (scene) => {
    /** One that waits, and that nobody has tried yet. */
    async function waiting(stage: Stage): Promise<string> {
      const { db, clock } = scene()
      await db.rows(sql`DELETE FROM background_response`)
      stage.one.behave({ instead: 'reset' })
      const { id } = (await stage.ask(RESPONSES, { body: { model: stage.model, input: 'hi', background: true } })).json
      await scene().inference.jobs.idle()
      await db.rows(sql`UPDATE background_response SET attempts = 0, lease_until = ${clock.now()}`)
      stage.one.behave({})
      expect(await jobsIn(db)).toEqual([{ id, status: 'queued', attempts: 0 }])
      return id
    }

    async function isRunByAnother(id: string): Promise<void> {
      const { db, inference } = scene()
      expect(await jobsIn(db)).toEqual([{ id, status: 'queued', attempts: 0 }])
      await inference.jobs.turn()
      await inference.jobs.idle()
      expect(await jobsIn(db)).toEqual([{ id, status: 'completed', attempts: 1 }])
    }

    test('§4.11 one that closes puts back what it claims: another runs it at once, and no attempt is lost', async () => {
      const stage = await scene().stage()
      const id = await waiting(stage)
      const { app, inference, origin } = await anotherProcess(scene(), 'closing')
      const gate = deferred()
      stage.one.next({ pace: (event) => (event === 2 ? gate.promise : undefined) })
      const headers = { authorization: `Bearer ${stage.key}` }
      const stream = openCall(origin, CHAT, { body: stage.bodyOf({ stream: true }), headers })
      await stream.says('Hello fr')
      const closed = app.close()
      const speaksToItself = () =>
        app.inject('/healthz').then(
          () => true,
          () => false,
        )
      await expect.poll(speaksToItself).toBe(false)
      await inference.jobs.turn()
      await inference.jobs.idle()
      await isRunByAnother(id)
      gate.resolve()
      expect((await stream.heard).complete).toBe(true)
      await closed
    })

    test('§4.11 so does one that is told to begin no more while it claims', async () => {
      const stage = await scene().stage()
      const id = await waiting(stage)
      const { app, inference } = await anotherProcess(scene(), 'claiming')
      const turn = inference.jobs.turn()
      inference.jobs.close()
      await turn
      await inference.jobs.idle()
      await isRunByAnother(id)
      await app.close()
    })

    test('§4.11 what cannot be asked for another reason is told, and tried again later: the attempt counts', async () => {
      const stage = await scene().stage()
      const id = await waiting(stage)
      const { app, inference } = await anotherProcess(scene(), 'failing')
      const broken = { inject: () => Promise.reject(new Error('planted')) } as unknown as typeof app
      inference.jobs.speakThrough({ app: broken, lend: () => ({ secret: 'none', end() {} }) })
      await inference.jobs.turn()
      await inference.jobs.idle()
      expect(await jobsIn(scene().db)).toEqual([{ id, status: 'queued', attempts: 1 }])
      expect(scene().log.filter((line) => line.includes('a background response failed'))).toHaveLength(1)
      await app.close()
    })
  },
  { stages: 3 },
)

test('§4.11 from the moment a server is told to stop it begins none, also while it still takes calls', async () => {
  const upstream = await startUpstream()
  const settings = await newSettings()
  const config_file = `${settings.data_dir}.yaml`
  const models = [{ id: 'm', ...PRICES, max_output_tokens: MAX_OUTPUT }]
  const provider = { id: 'one', base_url: upstream.base_url, api_key: 'sk-upstream', models }
  writeFileSync(config_file, JSON.stringify({ providers: [provider] }))
  const key = `svc_live_${randomBytes(16).toString('hex')}`
  const config = { ...settings, port: 0, log_level: 'silent' as const, bootstrap_key: key, config_file }
  const server = await startServer(config, { print: () => {} })
  const stopped = server.stop(DRAIN_MS)
  const headers = { authorization: `Bearer ${key}` }
  const body = { model: 'm', input: 'hi', background: true }
  const { status, json } = await openCall(server.address, RESPONSES, { body, headers }).heard
  expect([status, json.status]).toEqual([200, 'queued'])
  await stopped
  const { db } = await openStore(config, systemClock)
  expect([await jobsIn(db), upstream.requests.length]).toEqual([[{ id: json.id, status: 'queued', attempts: 0 }], 0])
  await db.close()
  await upstream.close()
})
