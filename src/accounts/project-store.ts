// A project's own row: its name, its cap, its money, its regions.
import { type Db, sql } from '../storage/db.ts'
import { raiseRoutingEpoch } from '../storage/routing-epoch.ts'
import type { ProjectState } from './project.ts'

interface Row {
  id: string
  name: string
  created_at: string
  verified_at: string | null
  cap_micros: number | null
  spent_micros: number
  held_micros: number
  allowed_regions: string | null
}

export type ProjectStore = ReturnType<typeof projectStore>

export function projectStore(db: Db) {
  return {
    async find(project_id: string): Promise<ProjectState | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT p.id, p.name, p.created_at, o.verified_at, p.cap_micros, p.spent_micros, p.held_micros, p.allowed_regions
        FROM project p JOIN person o ON o.id = p.owner_id WHERE p.id = ${project_id}`)
      return row && fromRow(row)
    },

    async rename(project_id: string, name: string): Promise<void> {
      await db.rows(sql`UPDATE project SET name = ${name} WHERE id = ${project_id}`)
    },

    /** Lowering it below what is spent is accepted: it then blocks. */
    async setCap(project_id: string, cap_micros: number | null): Promise<void> {
      await db.rows(sql`UPDATE project SET cap_micros = ${cap_micros} WHERE id = ${project_id}`)
    },

    async setRegions(project_id: string, regions: readonly string[] | null): Promise<void> {
      const text = regions && JSON.stringify(regions)
      await db.transaction(async (tx) => {
        await tx.rows(sql`UPDATE project SET allowed_regions = ${text} WHERE id = ${project_id}`)
        await raiseRoutingEpoch(tx, project_id)
      })
    },
  }
}

function fromRow({ verified_at, cap_micros, allowed_regions, ...row }: Row): ProjectState {
  return {
    ...row,
    object: 'project',
    owner_verified: verified_at !== null,
    ...(cap_micros !== null && { cap_micros }),
    ...(allowed_regions !== null && { allowed_regions: JSON.parse(allowed_regions) }),
  }
}
