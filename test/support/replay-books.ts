// What must be true of a replay run that is over, read off the store: each item asked once, spent what its events say,
// and the rest returned to the micro.
import { type Db, sql } from '../../src/storage/db.ts'

interface RunRow {
  status: string
  key_id: string
  max_cost_micros: number
  project_id: string
}

interface KeyRow {
  spent_micros: number
  held_micros: number
  returned_at: number | null
  parent_id: string
}

/** Nothing else may spend or hold in the project while it is looked at. */
export async function replayFaults(db: Pick<Db, 'rows'>, run_id: string): Promise<string[]> {
  const [run] = await db.rows<RunRow>(sql`
    SELECT status, key_id, max_cost_micros, project_id FROM replay_run WHERE id = ${run_id}`)
  if (!run) return ['there is no such run']
  const [key] = await db.rows<KeyRow>(sql`
    SELECT spent_micros, held_micros, returned_at, parent_id FROM api_key WHERE id = ${run.key_id}`)
  if (!key) return ['the run has no key']
  const events = await db.rows<{ trace_id: string; status: string; charged_micros: number }>(sql`
    SELECT trace_id, status, charged_micros FROM usage_event WHERE key_id = ${run.key_id}`)
  const done = await db.rows<{ result: string }>(sql`
    SELECT result FROM replay_item WHERE run_id = ${run_id} AND status = 'done'`)
  const [left] = await db.rows<{ left: number }>(sql`
    SELECT COUNT(*) AS left FROM replay_item WHERE run_id = ${run_id} AND status IN ('pending', 'running')`)
  const [project] = await db.rows<{ held_micros: number }>(sql`
    SELECT held_micros FROM project WHERE id = ${run.project_id}`)
  const [parent] = await db.rows<{ held_micros: number; open_children: number }>(sql`
    SELECT held_micros, open_children FROM api_key WHERE id = ${key.parent_id}`)
  const holds = await db.rows(sql`SELECT id FROM budget_hold WHERE project_id = ${run.project_id}`)
  const completed = events.filter(({ status }) => status === 'completed').map(({ trace_id }) => trace_id)
  const charged = events.reduce((sum, event) => sum + Number(event.charged_micros), 0)
  const told = done.map(({ result }) => JSON.parse(result).trace_id as string)
  const faults: [boolean, string][] = [
    [Number(left?.left) > 0, `${left?.left} items have no end`],
    [completed.length !== told.length, `${completed.length} calls were made for ${told.length} items: asked twice`],
    [new Set(told).size !== told.length, 'two items tell of one call'],
    [told.some((id) => !completed.includes(id)), 'an item tells of a call that was not made'],
    [key.spent_micros !== charged, `${key.spent_micros} were spent and ${charged} charged`],
    [charged > run.max_cost_micros, `${charged} were charged of ${run.max_cost_micros}`],
    [key.returned_at === null || key.held_micros !== 0, 'the money of the run was not returned'],
    [holds.length > 0, `${holds.length} holds are left`],
    [project?.held_micros !== 0, `the project still holds ${project?.held_micros}: not returned`],
    [(parent?.held_micros ?? 0) !== 0 || (parent?.open_children ?? 0) !== 0, 'the parent key still holds'],
  ]
  return faults.flatMap(([is, what]) => (is ? [what] : []))
}
