// What it would take an attacker hours to store, and is allowed: copies of one thing of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AttackName } from './attacks/all-attacks.ts'
import type { Project } from './hostile-stage.ts'
import type { Scene } from './scene.ts'

const SESSIONS = 200_000 // R70: as many as a project may have
const EVENTS = 200_000
const APART_MS = 20_000 // so that they are of the last weeks
const BOOKED_WITHIN_MS = 10_000

/** Before the attack begins. */
export async function seedFor(scene: Scene, name: AttackName, project: Project): Promise<void> {
  if (name === 'hoard') await manySessions(scene, project)
  if (name === 'searches') await manyEvents(scene, project)
}

async function manySessions(scene: Scene, project: Project): Promise<void> {
  await post(scene, project, '/v2/sessions', {})
  await copies(scene, 'agent_session', project, SESSIONS, {
    id: `'ses_${project.id}' || i`,
    sequence: 'sequence + i',
  })
}

/** As a history that was rolled up long ago: no roll-up is to come to it while the victim is watched. */
async function manyEvents(scene: Scene, project: Project): Promise<void> {
  await post(scene, project, '/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Go on.' }] })
  await copies(scene, 'usage_event', project, EVENTS, {
    trace_id: `'trc_${project.id}' || i`,
    created_ms: `created_ms - CAST(i AS BIGINT) * ${APART_MS}`,
    sequence: 'sequence - i',
  })
  await scene.write(`DELETE FROM usage_unrolled WHERE trace_id LIKE 'trc_${project.id}%'`)
}

const post = ({ client }: Scene, { key }: Project, path: string, body: object) =>
  client.send({ method: 'POST', path, headers: { authorization: `Bearer ${key}` }, body: JSON.stringify(body) })

/** Of the project's only row, as soon as it is there, with other values in some columns. */
async function copies(scene: Scene, table: string, { id }: Project, count: number, others: Record<string, string>) {
  const deadline_ms = performance.now() + BOOKED_WITHIN_MS
  const only = async () => (await scene.rows<object>(`SELECT * FROM ${table} WHERE project_id = '${id}'`))[0]
  let row = await only()
  for (; !row && performance.now() < deadline_ms; row = await only()) await sleep(50)
  const columns = Object.keys(row ?? {})
  await scene.write(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})
    INSERT INTO ${table} (${columns.join(', ')})
    SELECT ${columns.map((column) => others[column] ?? column).join(', ')} FROM n, ${table}
    WHERE project_id = '${id}'`)
}
