// Projects straight from the store, for suites that need no service.
import { foundProject } from '../../src/start/bootstrap.ts'
import { type Db, type OpenDb, sql } from '../../src/storage/db.ts'
import { NOON } from './clock.ts'

let founded = 0

/** The id of a new project. */
export async function projectIn(db: OpenDb): Promise<string> {
  const founding = { name: 'p', owner_email: `p${++founded}@example.com`, verified: true }
  return (await foundProject(db, founding, NOON)).project.id
}

/** What every process compares with what it knows of the project's routes. */
export async function routingEpoch(db: Db, project_id: string): Promise<number> {
  const [row] = await db.rows<{ routing_epoch: number }>(sql`
    SELECT routing_epoch FROM project WHERE id = ${project_id}`)
  if (!row) throw new Error(`no project ${project_id}`)
  return row.routing_epoch
}

/** By how much `work` raised it. */
export async function epochsRaised(db: Db, project_id: string, work: () => Promise<unknown>): Promise<number> {
  const before = await routingEpoch(db, project_id)
  await work()
  return (await routingEpoch(db, project_id)) - before
}
