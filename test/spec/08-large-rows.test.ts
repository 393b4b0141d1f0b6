// R70, R77: a project may have a thousand of what has tens of kilobytes each. Whoever asks for all of it has it read and
// written a few at a time: others have turns in between, and what many calls need at once is read once.
import { expect, test } from 'vitest'
import { type OpenDb, sql } from '../../src/storage/db.ts'
import { withService } from '../support/service.ts'
import type { Tampering } from '../support/tampered-db.ts'

const ROWS = 80
const NAMES = Array.from({ length: 1_000 }, (_, n) => `trc_${'x'.repeat(40)}${n}`)
const tampering: Tampering = {}

/** How many turns of the event loop there were meanwhile, and the most bytes that one statement brought. */
async function watched(work: () => Promise<unknown>): Promise<{ turns: number; bytes: number }> {
  const seen = { turns: 0, bytes: 0 }
  let is_over = false
  const count = () => {
    seen.turns++
    if (!is_over) setImmediate(count)
  }
  setImmediate(count)
  tampering.rows = async (statement, run) => {
    const rows = await run(statement)
    seen.bytes = Math.max(seen.bytes, JSON.stringify(rows).length)
    return rows
  }
  await work()
  delete tampering.rows
  is_over = true
  return seen
}

async function fill(db: OpenDb, project_id: string): Promise<void> {
  const named = JSON.stringify({ trace_ids: NAMES })
  const telemetry = JSON.stringify({ models: NAMES.map((id) => ({ id })) })
  for (let n = 0; n < ROWS; n++) {
    const id = `${project_id}${n}`
    await db.rows(sql`
      INSERT INTO purge_job (id, project_id, status, filter, kinds, is_listed, from_ms, until_ms, as_of_ms, phase,
                             progress, created_at, sequence)
      VALUES (${id}, ${project_id}, 'succeeded', ${named}, '[]', 1, 0, 0, 0, 'check', '{"matched":{},"erased":{}}',
              '2026-01-01T00:00:00.000Z', ${n})`)
    await db.rows(sql`
      INSERT INTO replay_run (id, project_id, status, source, target, control, matched, low_micros, high_micros,
                              cached_tokens, created_at, expires_ms, sequence)
      VALUES (${id}, ${project_id}, 'completed', ${named}, '{"model":"m"}', 0, 0, 0, 0, 0, '2026-01-01T00:00:00.000Z',
              ${Date.UTC(2100, 0)}, ${n})`)
    await db.rows(sql`
      INSERT INTO byoc_cluster (id, project_id, name, region, status, runtime, kv_cache, orchestrator, autoscaling,
                                created_at, updated_at, last_heartbeat_at, telemetry, sequence)
      VALUES (${id}, ${project_id}, 'c', 'eu', 'active', 'vllm', 'lmcache', 'llm-d',
              '{"min_replicas":1,"max_replicas":4,"target_ttft_ms":500}', '2026-01-01T00:00:00.000Z',
              '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', ${telemetry}, ${n})`)
  }
}

withService(
  (service) => {
    test('R77 lists of large rows, attention and routes are read a few rows at a time, with turns in between', async () => {
      const home = await service().newProject()
      await fill(service().db, home.project.id)
      for (const path of ['/v2/purge-jobs', '/v2/replay-runs', '/v2/attention', '/v2/byoc/clusters', '/v1/models']) {
        let status = 0
        const { turns, bytes } = await watched(async () => {
          status = (await home.get(path)).status
        })
        expect([path, status]).toEqual([path, 200])
        expect(bytes).toBeLessThan(10 * NAMES.join().length * 2)
        if (path !== '/v2/byoc/clusters') expect(turns).toBeGreaterThan(ROWS / 10) // which tells of no telemetry
      }
    })

    test('R78 what is known of a project’s clusters is read once, however many calls need it at once', async () => {
      const home = await service().newProject()
      await fill(service().db, home.project.id)
      let reads = 0
      tampering.rows = (statement, run) => {
        if (statement.text.join('').includes('SELECT allowed_regions, boundary FROM project')) reads++
        return run(statement)
      }
      await Promise.all(Array.from({ length: 20 }, () => home.get('/v1/models')))
      delete tampering.rows
      expect(reads).toBe(1)
    })

    test('R78 with a heartbeat before each of many calls it is read once at a time, and never old', async () => {
      const home = await service().newProject()
      await fill(service().db, home.project.id)
      const seen = { loads: 0, at_once: 0, under_way: 0 }
      let goOn = () => {}
      const all_have_come = new Promise<void>((resolve) => {
        goOn = resolve
      })
      tampering.rows = async (statement, run) => {
        const text = statement.text.join('')
        if (text.includes('SELECT allowed_regions, boundary FROM project')) seen.loads++
        if (!text.includes('FROM byoc_cluster WHERE project_id') || !text.includes('LIMIT')) return run(statement)
        seen.at_once = Math.max(seen.at_once, ++seen.under_way)
        await all_have_come
        return run(statement).finally(() => seen.under_way--)
      }
      const answers: Promise<{ body: { id: string } }>[] = []
      for (let n = 0; n < 20; n++) {
        const beat = { status: 'active', models: [{ id: `fresh-${n}` }] }
        await home.post(`/v2/byoc/clusters/${home.project.id}${n}/heartbeat`, beat)
        answers.push(home.get(`/v1/models/fresh-${n}`))
      }
      goOn()
      const told = (await Promise.all(answers)).map(({ body }) => body.id)
      delete tampering.rows
      expect(told).toEqual(Array.from({ length: 20 }, (_, n) => `fresh-${n}`))
      expect(seen.at_once).toBe(1)
      expect(seen.loads).toBeLessThanOrEqual(3)
    })
  },
  { tampering },
)
