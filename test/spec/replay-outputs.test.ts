// R70: what replayed calls were answered is kept within a bound of the project. Beyond it calls are made and compared as
// ever; what goes makes room, to the byte.
import { expect, test } from 'vitest'
import { quotaStore } from '../../src/limits/quota-store.ts'
import { sql } from '../../src/storage/db.ts'
import { record, recordingSettings } from '../support/replays.ts'
import { type TestProject, withService } from '../support/service.ts'

const DAY_MS = 24 * 60 * 60_000
const CHAT = '/v1/chat/completions'
const chat = (text: string) => ({ model: 'a-model', messages: [{ role: 'user', content: text }] })

withService(
  (service) => {
    async function replayed(project: TestProject): Promise<{ id: string; trace_id: string }> {
      const trace_id = await record(project, CHAT, chat('one'))
      const plan = { source: { trace_ids: [trace_id] }, target: { model: 'a-model' } }
      const { id } = (await project.post('/v2/replay-runs', plan)).body
      await project.post(`/v2/replay-runs/${id}/execute`, { max_cost_usd: 1 })
      service().clock.advance(1_000)
      await service().housekeep('run replay runs')
      const { status, items } = (await project.get(`/v2/replay-runs/${id}`)).body
      expect([status, items.done]).toEqual(['completed', 1])
      return { id, trace_id }
    }
    const output = (project: TestProject, { id, trace_id }: { id: string; trace_id: string }) =>
      project.get(`/v2/replay-runs/${id}/items/${trace_id}/target/output`)
    async function present({ project }: TestProject): Promise<[counted: number, there: number]> {
      const [row] = await service().db.rows<{ counted: number; there: number }>(sql`
        SELECT (SELECT SUM(present) FROM project_quota
                WHERE project_id = ${project.id} AND kind = 'replay_outputs_mib') AS counted,
               (SELECT COALESCE(SUM(bytes), 0) FROM replay_output WHERE project_id = ${project.id}) AS there`)
      return [Number(row?.counted), Number(row?.there)]
    }

    test('R70 where there is no room a call is compared, and its answer is not kept; another project has its own', async () => {
      const [full, other] = [await service().newProject(), await service().newProject()]
      await quotaStore(service().db).setMax(full.project.id, 'replay_outputs_mib', 0)
      const [unkept, kept] = [await replayed(full), await replayed(other)]
      expect([(await output(full, unkept)).status, (await output(other, kept)).status]).toEqual([404, 200])
      expect((await full.get(`/v2/replay-runs/${unkept.id}/comparison`)).body).toMatchObject({ compared: 1 })
      expect(await present(full)).toEqual([0, 0])
      const [counted, there] = await present(other)
      expect([counted > 0, counted]).toEqual([true, there])
    })

    test('R70 what a purge job erases makes room, and so does what is forgotten with its run', async () => {
      const project = await service().newProject()
      const { trace_id } = await replayed(project)
      await replayed(project)
      const [before] = await present(project)
      await project.post('/v2/purge-jobs', { filter: { trace_ids: [trace_id] }, mode: 'erase' })
      await service().housekeep('run purge jobs')
      const [between, there] = await present(project)
      expect([between < before, between > 0, between]).toEqual([true, true, there])
      service().clock.advance(31 * DAY_MS)
      await service().housekeep('sweep replay runs')
      expect(await present(project)).toEqual([0, 0])
    })
  },
  { parts: { settings: recordingSettings() } },
)
