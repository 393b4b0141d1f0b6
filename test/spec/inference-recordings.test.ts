// §8.2 recordings: the exact bytes of every generation of a project that wants it, for whoever made the call and for
// admins; kept for days, within a quota, erased by purge jobs; and nothing at all where nobody asked for it.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { DAY_MS } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import type { Heard } from '../support/inference-client.ts'
import { CHAT, type Scene, type Stage, withScene } from '../support/inference-scene.ts'

const RECORDINGS = '/v2/recordings'

withScene(
  (scene) => {
    const recording = async () => {
      const stage = await scene().stage()
      expect((await stage.post('/v2/project/recordings', { enabled: true })).body.recordings_enabled).toBe(true)
      return stage
    }
    const written = () => scene().housekeep('write recordings')
    const view = async (stage: Pick<Stage, 'get'>, { headers }: { headers: Record<string, string> }) =>
      (await stage.get(`${RECORDINGS}/${headers['agent-trace-id']}`)).body
    const listed = async (stage: Pick<Stage, 'get'>) => (await stage.get(RECORDINGS)).body

    test('R78 whoever asks for bytes and reads none of them is disconnected after a minute', async () => {
      const stage = await recording()
      const { headers } = await stage.chat()
      const waits: (number | undefined)[] = []
      const onRequest = ({ socket }: IncomingMessage, response: ServerResponse) =>
        void response.once('prefinish', () => waits.push(socket.timeout))
      scene().app.server.on('request', onRequest)
      for (const part of ['', '/request', '/answer'])
        await stage.ask(`${RECORDINGS}/${headers['agent-trace-id']}${part}`, { method: 'GET' })
      scene().app.server.off('request', onRequest)
      expect(waits).toEqual([60_000, 60_000, 60_000])
    })

    test('§8.2 whole and streamed, on every surface: what was sent and what was heard, to the byte', async () => {
      const stage = await recording()
      const { model } = stage
      const asked: [path: string, body: object][] = [
        [CHAT, stage.bodyOf({ note: 'ünïcode  ' })],
        [CHAT, stage.bodyOf({ stream: true })],
        ['/v1/completions', { model, prompt: 'once' }],
        ['/v1/embeddings', { model, input: 'embed me' }],
        ['/v1/responses', { model, input: 'hello' }],
        ['/v1/responses', { model, input: 'hello', stream: true }],
        ['/v2/responses', { model, input: 'hello' }],
        ['/anthropic/v1/messages', { model, max_tokens: 10, messages: [{ role: 'user', content: 'hello' }] }],
        [
          '/anthropic/v1/messages',
          { model, max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'hello' }] },
        ],
      ]
      const heard: Heard[] = []
      for (const [path, body] of asked) heard.push(await stage.ask(path, { body: `${JSON.stringify(body)} \n` }))
      const check = async () => {
        for (const [at, [path, body]] of asked.entries()) {
          const { status, text, bytes, headers } = heard[at] as (typeof heard)[number]
          expect([path, status]).toEqual([path, 200])
          const kept = await view(stage, { headers })
          expect(kept).toMatchObject({ object: 'recording', endpoint: path, status: 200, key_id: stage.key_id })
          expect(kept.stream).toBe('stream' in body)
          expect(kept.request).toEqual({
            ...{ bytes: kept.request_bytes, encoding: 'utf-8', text: `${JSON.stringify(body)} \n` },
          })
          expect(kept.answer.text).toBe(text)
          const raw = await stage.get(`${RECORDINGS}/${headers['agent-trace-id']}/answer`)
          expect(raw.bytes.equals(bytes)).toBe(true)
          expect(raw.headers['content-disposition']).toContain('attachment')
        }
      }
      await check() // while they wait to be written
      await written()
      expect(scene().recordings.tapes.pressure()).toEqual({ bytes: 0, large: 0, waiting: 0 })
      await check()
      const { read, room } = scene().recordings
      const place = room.place(stage.project.id)
      const door = await read(stage.project.id, String(heard[0]?.headers['agent-trace-id']), place)
      expect(Object.keys(door ?? {}).sort()).toEqual(
        ['answer', 'at', 'endpoint', 'is_stream', 'key_id', 'project_id', 'request', 'status', 'trace_id'].sort(),
      )
    })

    test('§8.2 nothing is recorded unless the project says so, and the 404 tells why', async () => {
      const stage = await scene().stage()
      const before = await stage.chat()
      await written()
      const id = before.headers['agent-trace-id']
      expect((await stage.get(`${RECORDINGS}/${id}`)).body.error.message).toContain('does not record its calls')
      scene().clock.advance(1_000)
      await stage.post('/v2/project/recordings', { enabled: true })
      expect((await stage.get(`${RECORDINGS}/${id}`)).body.error.message).toContain('records its calls since')
      const during = await stage.chat()
      await stage.post('/v2/project/recordings', { enabled: false })
      const after = await stage.chat()
      await written()
      expect((await listed(stage)).data.map((one: { trace_id: string }) => one.trace_id)).toEqual([
        during.headers['agent-trace-id'],
      ])
      expect((await stage.get(`${RECORDINGS}/${after.headers['agent-trace-id']}`)).status).toBe(404)
    })

    test('§8.2 refusals of an upstream are recorded, refusals of ours and replays are not', async () => {
      const stage = await recording()
      stage.one.behave({ status: 400, body: { error: { message: 'too warm', type: 'invalid_request_error' } } })
      const refused = await stage.chat()
      expect(await view(stage, refused)).toMatchObject({ status: 400, stream: false, answer: { text: refused.text } })
      stage.one.behave({})
      const ours = await stage.ask(CHAT, { body: { model: stage.model } })
      expect(ours.status).toBe(400)
      await stage.chat({}, { keyed: 'once' })
      await stage.chat({}, { keyed: 'once' })
      await written()
      const { data, dropped } = await listed(stage)
      expect([data.length, dropped]).toEqual([2, []])
    })

    test('R26 of a stream that its client left, what it was sent; of a keyed one, what a retry is sent', async () => {
      const stage = await recording()
      let goOn = () => {}
      const held = new Promise<void>((resolve) => {
        goOn = resolve
      })
      stage.one.behave({ text: 'first second ', chunks: 2, pace: (event) => (event === 2 ? held : undefined) })
      const left = stage.openChat({ stream: true }, { keyed: 'kept' })
      await left.says('first ')
      const { headers } = await left.head
      left.leave()
      goOn()
      await stage.until(({ events }) => events.length === 1)
      await expect.poll(() => scene().recordings.tapes.pressure().waiting).toBe(1)
      const retried = await stage.chat({ stream: true }, { keyed: 'kept' })
      expect(retried.headers['agent-idempotent-replay']).toBe('true')
      expect((await view(stage, { headers: headers as never })).answer.text).toBe(retried.text)
      await written()
    })

    test('R74 the key that made the call, its parent and admins read it; another key does not, another project never had it', async () => {
      const stage = await recording()
      const [mine, other] = [await stage.keyWith('inference'), await stage.keyWith('inference')]
      const asMine = { ...scene().as(mine) }
      const heard = await stage.ask(CHAT, { body: stage.bodyOf(), headers: { authorization: `Bearer ${mine}` } })
      await written()
      const id = heard.headers['agent-trace-id']
      const statuses = []
      for (const one of [asMine, stage, scene().as(other), await scene().stage()])
        statuses.push((await one.get(`${RECORDINGS}/${id}`)).status)
      expect(statuses).toEqual([200, 200, 403, 404])
      expect((await listed(asMine)).data).toHaveLength(1)
      expect((await listed(scene().as(other))).data).toEqual([])
      const byRequest = await stage.get(`${RECORDINGS}/${heard.headers['x-request-id']}`)
      expect(byRequest.body.trace_id).toBe(id)
    })

    test('R70 the list is newest first, whole or a page at a time', async () => {
      const stage = await recording()
      const ids: unknown[] = []
      for (let n = 0; n < 5; n++) {
        ids.unshift((await stage.chat()).headers['agent-trace-id'])
        scene().clock.advance(1)
      }
      await written()
      const idsIn = ({ data }: { data: { trace_id: string }[] }) => data.map(({ trace_id }) => trace_id)
      expect(idsIn(await listed(stage))).toEqual(ids)
      const first = (await stage.get(`${RECORDINGS}?limit=2`)).body
      expect([idsIn(first), first.has_more]).toEqual([ids.slice(0, 2), true])
      const rest = (await stage.get(`${RECORDINGS}?limit=3&after=${ids[1]}`)).body
      expect([idsIn(rest), rest.has_more]).toEqual([ids.slice(2), false])
      expect((await stage.get(`${RECORDINGS}?after=trc_none`)).status).toBe(400)
      expect((await stage.get(`${RECORDINGS}?limit=0`)).status).toBe(400)
    })

    const rowsOf = async (project_id: string) => {
      const [row] = await scene().db.rows<Record<string, number>>(sql`
        SELECT (SELECT COUNT(*) FROM recording WHERE project_id = ${project_id}) AS recordings,
               (SELECT COUNT(*) FROM recording_pack WHERE project_id = ${project_id}) AS packs,
               (SELECT COALESCE(SUM(present), 0) FROM project_quota
                WHERE project_id = ${project_id} AND kind LIKE 'recordings%') AS present,
               (SELECT COUNT(*) FROM artifact_content) + (SELECT COUNT(*) FROM artifact_loose_content) AS contents`)
      return Object.fromEntries(Object.entries(row ?? {}).map(([name, count]) => [name, Number(count)]))
    }
    const NOTHING = { recordings: 0, packs: 0, present: 0, contents: 0 }

    /** Nothing compresses it, so it lies where large contents do. */
    const noise = (bytes: number) => randomBytes(bytes).toString('base64')

    async function withLarge(stage: Stage) {
      const heard = [await stage.chat(), await stage.chat({ noise: noise(200_000) }), await stage.chat()]
      await scene().recordings.tapes.drained()
      expect(await rowsOf(stage.project.id)).toMatchObject({ recordings: 3 })
      return heard
    }

    test('§8.2 after `retention.days` a recording is gone, and its bytes with the next sweep', async () => {
      const stage = await recording()
      const [first, large] = await withLarge(stage)
      expect((await rowsOf(stage.project.id)).contents).toBeGreaterThan(0)
      if (!first || !large) throw new Error('three were heard')
      expect((await view(stage, large)).request.text).toContain('"noise"')
      scene().clock.advance(7 * DAY_MS)
      const gone = await stage.get(`${RECORDINGS}/${first.headers['agent-trace-id']}`)
      expect([gone.status, gone.body.error.message]).toEqual([404, expect.stringContaining('kept for 7 days')])
      expect((await listed(stage)).data).toEqual([])
      await scene().housekeep('sweep recordings')
      scene().clock.advance(1)
      await scene().housekeep('sweep contents')
      expect(await rowsOf(stage.project.id)).toEqual(NOTHING)
    })

    async function purge(stage: Stage, filter: object) {
      const confirm = 'everything' in filter && { confirm: 'home' }
      const { body } = await stage.post('/v2/purge-jobs', { filter, mode: 'erase', ...confirm })
      await scene().housekeep('run purge jobs')
      return (await stage.get(`/v2/purge-jobs/${body.id}`)).body
    }

    test('§8.1 one of a pack is purged: its bytes are cut out, the others are the same to the byte', async () => {
      const stage = await recording()
      const heard: Heard[] = []
      for (let n = 0; n < 5; n++) heard.push(await stage.chat({ note: `number ${n}` }))
      await written()
      expect(await rowsOf(stage.project.id)).toMatchObject({ recordings: 5, packs: 1 })
      const before = await Promise.all(heard.map((one) => view(stage, one)))
      const sealed = () =>
        scene().db.rows(sql`SELECT id, plain_bytes FROM recording_pack WHERE project_id = ${stage.project.id}`)
      const [old] = await sealed()
      scene().clock.advance(1)
      const ids = [1, 3].map((n) => heard[n]?.headers['agent-trace-id'])
      expect((await purge(stage, { trace_ids: ids })).status).toBe('succeeded')
      const after = await Promise.all(heard.map((one) => view(stage, one)))
      for (const [at, one] of before.entries())
        if (at === 1 || at === 3) expect(after[at].error.type).toBe('invalid_request_error')
        else expect(after[at]).toEqual(one)
      const [fresh] = await sealed()
      expect(fresh).not.toEqual(old)
      expect(await rowsOf(stage.project.id)).toMatchObject({ recordings: 3, packs: 1 })
      scene().clock.advance(1)
      expect((await purge(stage, { everything: true })).status).toBe('succeeded')
      expect(await rowsOf(stage.project.id)).toMatchObject(NOTHING)
    })

    test('§8.1 what waits in memory is gone for whoever asks once a purge job was made, whichever process has it', async () => {
      const stage = await recording()
      const call = await stage.chat()
      const trace_id = call.headers['agent-trace-id']
      expect(await view(stage, call)).toMatchObject({ status: 200 })
      scene().clock.advance(1)
      expect((await purge(stage, { everything: true })).status).toBe('succeeded')
      for (const part of ['', '/request', '/answer'])
        expect((await stage.get(`${RECORDINGS}/${trace_id}${part}`)).status).toBe(404)
    })

    test('§8.1 everything is purged, wherever it lies, and what still waited in memory is not written any more', async () => {
      const stage = await recording()
      await withLarge(stage)
      const late = await stage.chat({ note: 'late' })
      scene().clock.advance(1)
      const job = await purge(stage, { everything: true })
      expect(job.kinds.find(({ kind }: { kind: string }) => kind === 'recordings')).toMatchObject({ erased: 3 })
      await written()
      expect(await rowsOf(stage.project.id)).toEqual(NOTHING)
      const answer = await stage.get(`${RECORDINGS}/${late.headers['agent-trace-id']}`)
      expect([answer.status, answer.body.error.message]).toEqual([404, expect.stringContaining('purge job')])
      const fresh = await stage.chat()
      await written()
      expect(await view(stage, fresh)).toMatchObject({ status: 200 })
    })

    test('R70 beyond its quota a call is answered and not recorded, which the list and the 404 tell', async () => {
      const stage = await recording()
      const operator = await scene().operator()
      const path = `/v2/operator/projects/${stage.project.id}/quotas`
      expect((await operator.post(path, { recordings: 1 })).status).toBe(200)
      await stage.chat()
      await written()
      const second = await stage.chat()
      expect(second.status).toBe(200)
      await written()
      const { data, dropped } = await listed(stage)
      expect([data.length, dropped]).toEqual([1, [expect.objectContaining({ reason: 'quota', count: 1 })]])
      const why = await stage.get(`${RECORDINGS}/${second.headers['agent-trace-id']}`)
      expect(why.body.error.message).toContain('as many recordings as it may have')
      expect(scene().recordings.tapes.pressure()).toEqual({ bytes: 0, large: 0, waiting: 0 })
    })

    test('§8.2 a store that is away holds up no answer; what waited is written when it is back', async () => {
      const stage = await recording()
      const heard = await stage.chat()
      const { tampering } = scene()
      tampering.transaction = async () => {
        throw new Error('away')
      }
      await written()
      expect(scene().recordings.tapes.pressure().waiting).toBe(1)
      delete tampering.transaction
      await written()
      expect(await view(stage, heard)).toMatchObject({ answer: { text: heard.text } })
      expect(await rowsOf(stage.project.id)).toMatchObject({ recordings: 1 })
    })
  },
  { config: { retention: { full_fidelity: true, days: 7 } } },
)

withScene(
  (scene: () => Scene) => {
    test('§8.2 without `retention.full_fidelity` nobody can record, and nothing is stored by trying', async () => {
      const stage = await scene().stage()
      const refused = await scene().storingNothing(() => stage.post('/v2/project/recordings', { enabled: true }))
      expect([refused.status, refused.body.error.message]).toEqual([
        400,
        expect.stringContaining('retention.full_fidelity'),
      ])
      await scene().db.rows(sql`UPDATE project SET records_since_ms = 1 WHERE id = ${stage.project.id} RETURNING id`)
      const heard = await stage.chat()
      await scene().housekeep('write recordings')
      const answer = await stage.get(`${RECORDINGS}/${heard.headers['agent-trace-id']}`)
      expect([answer.status, answer.body.error.message]).toEqual([404, expect.stringContaining('lets nobody record')])
    })
  },
  { stages: 2 },
)
