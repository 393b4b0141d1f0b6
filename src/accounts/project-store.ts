// A project's own row: its name, its cap, its money, its regions.

import { type CredentialSettings, readSettings } from '../credentials/credential.ts'
import type { Boundary } from '../models/boundary.ts'
import { type Db, sql } from '../storage/db.ts'
import { raiseRoutingEpoch } from '../storage/routing-epoch.ts'
import type { ProjectState } from './project.ts'

interface Row {
  id: string
  name: string
  created_at: string
  verified_at: string | null
  cap_micros: number | null
  operator_cap_micros: number | null
  suspended_at: string | null
  operator_id: string | null
  spent_micros: number
  held_micros: number
  allowed_regions: string | null
  overage_enabled: number
  boundary: Boundary
  records_since_ms: number | null
  second_factor_required: number
}

/** What is undefined stays as it is. */
export interface CapChange {
  cap_micros: number | null | undefined
  overage_enabled: boolean | undefined
}

/** What tells where the calls of a credential go. */
export interface CredentialPlace {
  provider: string
  base_url: string | null
  settings: CredentialSettings | undefined
}

export function projectStore(db: Db) {
  return {
    async find(project_id: string): Promise<ProjectState | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT p.id, p.name, p.created_at, o.verified_at, p.cap_micros, p.spent_micros, p.held_micros,
               p.allowed_regions, p.overage_enabled, p.boundary, p.operator_cap_micros, p.suspended_at,
               p.records_since_ms, p.second_factor_required, s.value AS operator_id
        FROM project p JOIN person o ON o.id = p.owner_id LEFT JOIN setting s ON s.name = 'operator_project'
        WHERE p.id = ${project_id}`)
      return row && fromRow(row)
    },

    /** False where another project of the same owner has the name (0162). */
    async rename(project_id: string, name: string): Promise<boolean> {
      const renamed = await db.rows(sql`
        UPDATE project SET name = ${name} WHERE id = ${project_id} AND NOT EXISTS (
          SELECT o.id FROM project o WHERE o.owner_id = project.owner_id AND o.id <> ${project_id} AND o.name = ${name})
        RETURNING id`)
      return renamed.length === 1
    },

    /** Lowering it below what is spent is accepted: it then blocks, or counts. */
    async setCap(project_id: string, { cap_micros, overage_enabled }: CapChange): Promise<void> {
      const is_given = cap_micros === undefined ? 0 : 1
      const overage = overage_enabled === undefined ? null : Number(overage_enabled)
      await db.rows(sql`
        UPDATE project SET overage_enabled = COALESCE(${overage}, overage_enabled),
          cap_micros = CASE WHEN ${is_given} = 1 THEN ${cap_micros ?? null} ELSE cap_micros END
        WHERE id = ${project_id}`)
    },

    async setBoundary(project_id: string, boundary: Boundary): Promise<void> {
      await db.transaction(async (tx) => {
        await tx.rows(sql`UPDATE project SET boundary = ${boundary} WHERE id = ${project_id}`)
        await raiseRoutingEpoch(tx, project_id)
      })
    },

    /** Since when stays as it was where it did so already. */
    async setRecordings(project_id: string, enabled: boolean, now: number): Promise<void> {
      await db.rows(sql`
        UPDATE project
        SET records_since_ms = CASE WHEN ${enabled ? 1 : 0} = 1 THEN COALESCE(records_since_ms, ${now}) ELSE NULL END
        WHERE id = ${project_id}`)
    },

    async setSecondFactor(project_id: string, required: boolean): Promise<void> {
      await db.rows(sql`
        UPDATE project SET second_factor_required = ${required ? 1 : 0} WHERE id = ${project_id}`)
    },

    /** Where the project's own clusters are. */
    async clusterRegions(project_id: string): Promise<string[]> {
      const rows = await db.rows<{ region: string }>(sql`
        SELECT DISTINCT region FROM byoc_cluster WHERE project_id = ${project_id}`)
      return rows.map(({ region }) => region)
    },

    /** What is needed to say where the calls of its credentials go. */
    async credentialAddresses(project_id: string): Promise<CredentialPlace[]> {
      const rows = await db.rows<{ provider: string; base_url: string | null; settings: string | null }>(sql`
        SELECT DISTINCT provider, base_url, settings FROM provider_credential
        WHERE project_id = ${project_id} AND status <> 'revoked'`)
      return rows.map((row) => ({ ...row, settings: readSettings(row.settings) }))
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

function fromRow({ verified_at, overage_enabled, allowed_regions, ...more }: Row): ProjectState {
  const {
    cap_micros,
    operator_cap_micros,
    suspended_at,
    operator_id,
    records_since_ms,
    second_factor_required,
    ...row
  } = more
  return {
    ...row,
    object: 'project',
    owner_verified: verified_at !== null,
    ...(cap_micros !== null && { cap_micros }),
    ...(operator_cap_micros !== null && { operator_cap_micros }),
    ...(suspended_at !== null && { suspended_at }),
    ...(operator_id === row.id && { is_operator: true as const }),
    overage_enabled: overage_enabled === 1,
    recordings_enabled: records_since_ms !== null,
    second_factor_required: second_factor_required === 1,
    ...(allowed_regions !== null && { allowed_regions: JSON.parse(allowed_regions) }),
  }
}
