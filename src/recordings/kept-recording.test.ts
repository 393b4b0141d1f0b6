// §8.2 recordings beside slow or broken storage: calls are answered, memory is bounded, drops are told, nothing is left.
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ENGINE } from '../../test/support/databases.ts'
import { settingsFrom } from '../../test/support/inference-scene.ts'
import { nextLooks } from '../../test/support/next-look.ts'
import { startService, type TestProject, type TestService, withService } from '../../test/support/service.ts'
import { countStatements, cutOffNextCommit, deferred, type Tampering, textOf } from '../../test/support/tampered-db.ts'
import { doneOrWaiting } from '../../test/support/waiting-locks.ts'
import type { Contents } from '../contents/content.ts'
import { MINUTE_MS } from '../core/clock.ts'
import { newTraceId } from '../core/ids.ts'
import { type Db, sql } from '../storage/db.ts'
import { WAITING_BOUNDS } from './recording.ts'
import { HELD_MS } from './unpacked-packs.ts'

const settings = () => settingsFrom({ retention: { full_fidelity: true } })
const MIB = 2 ** 20

const ask = (project: Pick<TestProject, 'post'>, noise: number) =>
  project.post('/v1/chat/completions', {
    ...{ model: 'gpt-4o-mini', messages: [{ role: 'user', content: randomBytes(noise).toString('base64') }] },
  })

const rowsIn = async (db: Db) => {
  const [row] = await db.rows<Record<string, number>>(sql`
    SELECT (SELECT COUNT(*) FROM recording) AS recordings, (SELECT COUNT(*) FROM recording_pack) AS packs,
           (SELECT COUNT(*) FROM artifact_loose_content) AS loose,
           (SELECT COUNT(*) FROM project_quota WHERE kind LIKE 'recordings%' AND present > 0) AS taken`)
  return Object.values(row ?? {}).map(Number)
}

const turns = async (holds: () => boolean) => {
  const nextLook = nextLooks()
  while (!holds()) await nextLook()
}

async function recordingService(contents: Contents) {
  const places = { place: 'files' as const, at: { files: contents } }
  const service = await startService({ parts: { contents: places, settings: settings() } })
  await service.post('/v2/project/recordings', { enabled: true })
  return service
}

const stuck = (): Contents => ({
  write: () => new Promise(() => {}),
  async *read() {},
  erase: async () => {},
})

const holding = (held: Map<string, Buffer>): Contents => ({
  write: async (id, content) => void held.set(id, Buffer.concat([...content.parts()])),
  async *read(id) {
    yield held.get(id) ?? Buffer.alloc(0)
  },
  erase: async (id) => void held.delete(id),
})

test('R78 storage that never finishes: every call is answered, memory is bounded, and what is dropped is told', async () => {
  const service = await recordingService(stuck())
  const CALLS = 16 // of some 4 MiB each, a half more than there is room for
  let most = 0
  for (let n = 0; n < CALLS; n++) {
    expect((await ask(service, 3 * MIB)).status).toBe(200)
    most = Math.max(most, service.recordings.tapes.pressure().bytes)
  }
  await service.housekeep('write recordings')
  expect(most).toBeLessThanOrEqual(WAITING_BOUNDS.bytes_of_one)
  const { dropped, data } = (await service.get('/v2/recordings')).body
  const { waiting } = service.recordings.tapes.pressure()
  expect(dropped).toEqual([expect.objectContaining({ reason: 'memory', count: CALLS - waiting })])
  expect(data).toEqual([])
  expect(await service.metrics.registry.metrics()).toContain(
    `switchyard_recordings_dropped_total{reason="memory"} ${CALLS - waiting}`,
  )
  // What is small lies elsewhere, and another project has its own share of the memory.
  const neighbour = await service.newProject()
  await neighbour.post('/v2/project/recordings', { enabled: true })
  const small = await ask(neighbour, 100)
  await service.housekeep('write recordings')
  const kept = await neighbour.get(`/v2/recordings/${small.headers['agent-trace-id']}`)
  expect(kept.body.answer.text).toBe(small.bytes.toString())
})

test('§8.2 storage that fails leaves no row, no quota and no content, and is asked again', async () => {
  const held = new Map<string, Buffer>()
  let fails = true
  const contents: Contents = {
    async write(id, content) {
      if (fails) throw new Error('the disk is full')
      held.set(id, Buffer.concat([...content.parts()]))
    },
    async *read(id) {
      yield held.get(id) ?? Buffer.alloc(0)
    },
    erase: async (id) => void held.delete(id),
  }
  const service: TestService & TestProject = await recordingService(contents)
  const large = await ask(service, 200_000)
  const { tapes } = service.recordings
  await tapes.drained()
  expect([await rowsIn(service.db), held.size, tapes.pressure().waiting]).toEqual([[0, 0, 0, 0], 0, 1])
  fails = false
  await tapes.drained()
  expect([await rowsIn(service.db), held.size, tapes.pressure().waiting]).toEqual([[1, 1, 0, 2], 1, 0])
  const kept = await service.get(`/v2/recordings/${large.headers['agent-trace-id']}`)
  expect(kept.body.answer.text).toBe(large.bytes.toString())
  await turns(() => tapes.pressure().bytes === 0)
})

test.each([true, false])(
  '§8.2 a commit of which nobody heard (happened: %s): one pack, its bytes are there, and the quota is what lies there',
  async (happened) => {
    const held = new Map<string, Buffer>()
    const service = await recordingService(holding(held))
    const { tapes } = service.recordings
    for (const noise of [100, 200_000]) {
      const call = await ask(service, noise)
      cutOffNextCommit(service.tampering, happened)
      await tapes.drained()
      expect(tapes.pressure().waiting).toBe(1)
      await tapes.drained()
      const kept = await service.get(`/v2/recordings/${call.headers['agent-trace-id']}`)
      expect(kept.body.answer?.text).toBe(call.bytes.toString())
    }
    service.clock.advance(11 * MINUTE_MS)
    await service.housekeep('sweep contents')
    expect([await rowsIn(service.db), held.size]).toEqual([[2, 2, 0, 2], 1])
    const [quota] = await service.db.rows<{ present: number }>(sql`
      SELECT present FROM project_quota WHERE kind = 'recordings'`)
    expect(quota?.present).toBe(2)
  },
)

test('§4.16 §8.2 a commit of which nobody heard, and a purge job since: what is there is not told as purged', async () => {
  const held = new Map<string, Buffer>()
  const service = await recordingService(holding(held))
  const { tapes } = service.recordings
  const call = await ask(service, 200_000)
  cutOffNextCommit(service.tampering, true)
  await tapes.drained()
  expect(tapes.pressure().waiting).toBe(1)
  service.clock.advance(1)
  const filter = { trace_ids: [newTraceId(service.clock.now())] }
  expect((await service.post('/v2/purge-jobs', { filter, mode: 'erase' })).status).toBe(200)
  await tapes.drained()
  await tapes.drained() // what a large one was dropped for is written with the next
  const { data, dropped } = (await service.get('/v2/recordings')).body
  expect([data.length, dropped]).toEqual([1, []])
  const kept = await service.get(`/v2/recordings/${call.headers['agent-trace-id']}`)
  expect(kept.body.answer?.text).toBe(call.bytes.toString())
  expect([await rowsIn(service.db), held.size]).toEqual([[1, 1, 0, 2], 1])
})

const tampering: Tampering = {}

withService(
  (service) => {
    test('§8.1 whatever is purged out of packs, the others are the same to the byte, and the quota is what is left', async () => {
      const bytes = fc.nat(3_000)
      const calls = fc.array(
        fc.record({ request: bytes, answer: bytes, is_noise: fc.boolean(), purged: fc.boolean() }),
        {
          ...{ minLength: 1, maxLength: 12 },
        },
      )
      await fc.assert(
        fc.asyncProperty(calls, async (drawn) => {
          const { recordings, clock, db } = service()
          const home = await service().newProject()
          const project_id = home.project.id
          const sent = drawn.map(({ request, answer, is_noise, purged }) => {
            const trace_id = newTraceId(clock.now())
            const who = { key_id: home.key_id, made_by: home.key_id, made_under: null }
            const [body, heard] = [
              is_noise ? randomBytes(60 * request) : Buffer.alloc(request, 'r'),
              randomBytes(answer),
            ]
            const tape = recordings.tapes.begin(
              { trace_id, project_id, endpoint: '/v1/chat/completions', ...who },
              body,
            )
            tape.begin(200)
            tape.add(heard)
            recordings.tapes.end(tape)
            return { trace_id, body, heard, purged }
          })
          await recordings.tapes.drained()
          clock.advance(1)
          const trace_ids = sent.filter(({ purged }) => purged).map(({ trace_id }) => trace_id)
          if (trace_ids.length > 0) {
            const { body } = await home.post('/v2/purge-jobs', { filter: { trace_ids }, mode: 'erase' })
            await service().housekeep('run purge jobs')
            expect((await home.get(`/v2/purge-jobs/${body.id}`)).body.status).toBe('succeeded')
          }
          for (const { trace_id, body, heard, purged } of sent) {
            const found = await recordings.read(project_id, trace_id, recordings.room.place(project_id))
            expect(found === undefined).toBe(purged)
            if (found) expect([body.equals(found.request), heard.equals(found.answer)]).toEqual([true, true])
          }
          const [row] = await db.rows<Record<string, number>>(sql`
          SELECT (SELECT COUNT(*) FROM recording WHERE project_id = ${project_id}) AS items,
                 (SELECT COALESCE(SUM(packed_bytes), 0) FROM recording_pack WHERE project_id = ${project_id}) AS bytes,
                 (SELECT COALESCE(SUM(plain_bytes), 0) FROM recording_pack WHERE project_id = ${project_id}) AS plain,
                 (SELECT COALESCE(SUM(request_bytes + answer_bytes), 0) FROM recording
                  WHERE project_id = ${project_id}) AS live,
                 (SELECT present FROM project_quota WHERE project_id = ${project_id} AND kind = 'recordings') AS taken,
                 (SELECT present FROM project_quota WHERE project_id = ${project_id} AND kind = 'recordings_mib') AS taken_b,
                 (SELECT COUNT(*) FROM recording_pack WHERE project_id = ${project_id} AND is_cut = 1) AS cut,
                 (SELECT COUNT(*) FROM artifact_loose_content WHERE project_id = ${project_id}) AS loose`)
          const { items, bytes: packed, plain, live, taken, taken_b, cut, loose } = row as Record<string, number>
          expect(Number(plain)).toBe(Number(live)) // nothing of what is gone is left in a pack
          expect([Number(taken), Number(taken_b), Number(cut), Number(loose)]).toEqual([
            Number(items),
            Number(packed),
            0,
            0,
          ])
        }),
        { numRuns: 10 },
      )
    })

    /** So many calls in one pack; which of them is to be purged is up to the caller. */
    function ended(home: TestProject, count: number) {
      const { recordings, clock } = service()
      return Array.from({ length: count }, () => {
        const trace_id = newTraceId(clock.now())
        const who = { project_id: home.project.id, key_id: home.key_id, made_by: home.key_id, made_under: null }
        const request = randomBytes(500)
        const tape = recordings.tapes.begin({ trace_id, endpoint: '/v1/chat/completions', ...who }, request)
        tape.begin(200)
        tape.add(randomBytes(100))
        recordings.tapes.end(tape)
        return { trace_id, request }
      })
    }

    async function recorded(home: TestProject, count: number) {
      const sent = ended(home, count)
      await service().recordings.tapes.drained()
      return sent
    }

    const reading = (project_id: string, trace_id: string) =>
      service().recordings.read(project_id, trace_id, service().recordings.room.place(project_id))

    test('R77 of one pack that is read by many, one after the other or at once, the bytes are fetched and unpacked once', async () => {
      const home = await service().newProject()
      const sent = await recorded(home, 100)
      const read = ({ trace_id }: (typeof sent)[number]) => reading(home.project.id, trace_id)
      const begun_ms = performance.now()
      const fetched = await countStatements(tampering).while(async () => {
        for (const one of sent.slice(0, 50))
          expect(one.request.equals((await read(one))?.request ?? Buffer.of())).toBe(true)
        await Promise.all(sent.slice(50).map(read))
      })
      tampering.rows = undefined
      const times = fetched.filter((text) => /sealed.* FROM recording_pack/.test(text)).length
      expect(times).toBeGreaterThan(0)
      expect(times).toBeLessThanOrEqual(1 + Math.floor((performance.now() - begun_ms) / HELD_MS))
    })

    test('§8.1 what was purged is not found in a pack that was just read, and the others are', async () => {
      const home = await service().newProject()
      const [gone, kept] = await recorded(home, 2)
      const read = (one = gone) => reading(home.project.id, one?.trace_id ?? '')
      expect(await read(gone)).toBeDefined()
      service().clock.advance(1)
      await home.post('/v2/purge-jobs', { filter: { trace_ids: [gone?.trace_id] }, mode: 'erase' })
      await service().housekeep('run purge jobs')
      expect(await read(gone)).toBeUndefined()
      expect(kept?.request.equals((await read(kept))?.request ?? Buffer.of())).toBe(true)
    })

    // The embedded store writes one after the other.
    test.runIf(ENGINE === 'postgres')(
      '§8.1 what is being written while a job that names it counts is erased',
      async () => {
        const home = await service().newProject()
        const { recordings, clock, db } = service()
        const [found, go] = [deferred(), deferred()]
        tampering.rows = async (statement, run) => {
          const rows = await run(statement)
          if (!/^SELECT as_of_ms FROM purge_job/.test(textOf(statement))) return rows
          tampering.rows = undefined
          found.resolve()
          await go.promise
          return rows
        }
        const [one] = ended(home, 1)
        const writing = recordings.tapes.drained()
        await found.promise
        clock.advance(1)
        await home.post('/v2/purge-jobs', { filter: { trace_ids: [one?.trace_id] }, mode: 'erase' })
        const job = service().housekeep('run purge jobs')
        await doneOrWaiting(job, db, 'project_quota')
        go.resolve()
        await Promise.all([writing, job])
        expect(await reading(home.project.id, one?.trace_id ?? '')).toBeUndefined()
      },
    )

    test('§8.2 a pack that could not be read is asked for again', async () => {
      const home = await service().newProject()
      const [one] = await recorded(home, 1)
      const read = () => reading(home.project.id, one?.trace_id ?? '')
      tampering.rows = (statement, run) =>
        / FROM recording_pack/.test(textOf(statement)) ? Promise.reject(new Error('away')) : run(statement)
      await expect(read()).rejects.toThrow('away')
      tampering.rows = undefined
      expect(one?.request.equals((await read())?.request ?? Buffer.of())).toBe(true)
    })
  },
  { tampering },
)
