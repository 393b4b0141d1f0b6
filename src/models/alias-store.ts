// Aliases and their releases at rest (§9.4). Moving the pointer raises the routing epoch; releases are only ever
// inserted, and outlive their alias, so that a release named by a usage event can always be looked up.
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import { nextTurn } from '../core/turns.ts'
import { inBatches, LARGE_BATCH_ROWS, mapped } from '../storage/batches.ts'
import { type Db, sql } from '../storage/db.ts'
import { raiseRoutingEpoch } from '../storage/routing-epoch.ts'
import { activationStore } from './activation-store.ts'
import type { Alias, AliasRelease, AliasTarget, FoundedAlias, NamedRelease, UnnumberedRelease } from './alias.ts'
import type { Boundary } from './boundary.ts'

type AliasRow = Omit<Alias, 'object' | 'boundary'> & { boundary: Boundary | null }
type ReleaseRow = Omit<AliasRelease, 'object' | 'targets' | 'evidence'> & { targets: string; evidence: string | null }

/** What is needed to route. */
export type PointedRelease = Pick<AliasRelease, 'id' | 'alias_name' | 'targets'> & { boundary?: Boundary }

export type AliasStore = ReturnType<typeof aliasStore>

export function aliasStore(db: Db) {
  return {
    /** False where the project has an alias of this name already; nothing is stored then. */
    async insert({ alias: a, release }: FoundedAlias, now: number, actor: string | null = null): Promise<boolean> {
      return db.transaction(async (tx) => {
        const [inserted] = await tx.rows(sql`
          INSERT INTO model_alias (id, project_id, name, current_release_id, boundary, created_at, updated_at, sequence)
          VALUES (${a.id}, ${a.project_id}, ${a.name}, ${a.current_release_id}, ${a.boundary ?? null}, ${a.created_at},
                  ${a.updated_at}, ${nextSequence(now)})
          ON CONFLICT (project_id, name) DO NOTHING
          RETURNING id`)
        if (!inserted) return false
        await insertRelease(tx, release, now)
        await activationStore(tx).record({ alias: a, release_id: release.id, previous_release_id: null, actor }, now)
        await raiseRoutingEpoch(tx, a.project_id)
        return true
      })
    },

    async list(project_id: string): Promise<Alias[]> {
      const rows = await db.rows<AliasRow>(sql`
        SELECT id, project_id, name, current_release_id, boundary, created_at, updated_at
        FROM model_alias WHERE project_id = ${project_id} ORDER BY sequence DESC`)
      return rows.map(aliasFrom)
    },

    async find(project_id: string, name: string): Promise<Alias | undefined> {
      const [row] = await db.rows<AliasRow>(sql`
        SELECT id, project_id, name, current_release_id, boundary, created_at, updated_at
        FROM model_alias WHERE project_id = ${project_id} AND name = ${name}`)
      return row && aliasFrom(row)
    },

    async remove(project_id: string, name: string): Promise<{ id: string } | undefined> {
      return db.transaction(async (tx) => {
        const [removed] = await tx.rows<{ id: string }>(sql`
          DELETE FROM model_alias WHERE project_id = ${project_id} AND name = ${name} RETURNING id`)
        if (removed) await raiseRoutingEpoch(tx, project_id)
        return removed
      })
    },

    /** The next version of its alias. Undefined where the alias has gone meanwhile. */
    async addRelease(release: UnnumberedRelease, now: number): Promise<AliasRelease | undefined> {
      return db.transaction(async (tx) => {
        // Touching the alias first makes those who release at the same time count one after the other.
        const [alias] = await tx.rows(sql`
          UPDATE model_alias SET updated_at = ${release.created_at}
          WHERE project_id = ${release.project_id} AND id = ${release.alias_id} RETURNING id`)
        if (!alias) return undefined
        const [last] = await tx.rows<{ version: number }>(sql`
          SELECT version FROM alias_release WHERE alias_id = ${release.alias_id} ORDER BY version DESC LIMIT 1`)
        const numbered = { ...release, version: (last?.version ?? 0) + 1 }
        await insertRelease(tx, numbered, now)
        return numbered
      })
    },

    /** All of them, newest first. */
    listReleases: ({ id, project_id }: Pick<Alias, 'id' | 'project_id'>) =>
      mapped(
        inBatches<Pick<ReleaseRow, 'version'>, ReleaseRow>(
          { version: Number.MAX_SAFE_INTEGER },
          ({ version }) =>
            db.rows<ReleaseRow>(sql`
              SELECT id, project_id, alias_id, alias_name, version, targets, evidence, created_at
              FROM alias_release WHERE alias_id = ${id} AND version < ${version} AND project_id = ${project_id}
              ORDER BY version DESC LIMIT ${LARGE_BATCH_ROWS}`),
          LARGE_BATCH_ROWS,
        ),
        releaseFrom,
      ),

    /** The newest, and the one that it points at: which they are, and nothing of what they say. */
    newestReleases: ({ id, project_id, current_release_id }: Alias, most: number): Promise<NamedRelease[]> =>
      db.rows<NamedRelease>(sql`
        SELECT id, version FROM alias_release
        WHERE project_id = ${project_id} AND alias_id = ${id} AND (id = ${current_release_id} OR version > COALESCE((
          SELECT version FROM alias_release WHERE alias_id = ${id} ORDER BY version DESC LIMIT 1 OFFSET ${most}), 0))
        ORDER BY version DESC`),

    async findRelease(project_id: string, id: string): Promise<AliasRelease | undefined> {
      const [row] = await db.rows<ReleaseRow>(sql`
        SELECT id, project_id, alias_id, alias_name, version, targets, evidence, created_at
        FROM alias_release WHERE project_id = ${project_id} AND id = ${id}`)
      return row && releaseFrom(row)
    },

    /** Points the alias at one of its releases. Undefined where the alias has been deleted. */
    async activate(
      { id, project_id, alias_id }: AliasRelease,
      now: number,
      actor: string | null = null,
    ): Promise<Alias | undefined> {
      return db.transaction(async (tx) => {
        // Touched first, so that those who activate at the same time see each other's release as the one before.
        const [before] = await tx.rows<Pick<AliasRow, 'current_release_id'>>(sql`
          UPDATE model_alias SET updated_at = ${rfc3339(now)} WHERE project_id = ${project_id} AND id = ${alias_id}
          RETURNING current_release_id`)
        const [row] = await tx.rows<AliasRow>(sql`
          UPDATE model_alias SET current_release_id = ${id} WHERE project_id = ${project_id} AND id = ${alias_id}
          RETURNING id, project_id, name, current_release_id, boundary, created_at, updated_at`)
        if (!row || !before) return undefined
        const moved = { alias: row, release_id: id, previous_release_id: before.current_release_id, actor }
        await activationStore(tx).record(moved, now)
        await raiseRoutingEpoch(tx, project_id)
        return aliasFrom(row)
      })
    },

    /** R73: null leaves it to the project. */
    async setBoundary(
      project_id: string,
      name: string,
      boundary: Boundary | null,
      now: number,
    ): Promise<Alias | undefined> {
      return db.transaction(async (tx) => {
        const [row] = await tx.rows<AliasRow>(sql`
          UPDATE model_alias SET boundary = ${boundary}, updated_at = ${rfc3339(now)}
          WHERE project_id = ${project_id} AND name = ${name}
          RETURNING id, project_id, name, current_release_id, boundary, created_at, updated_at`)
        if (row) await raiseRoutingEpoch(tx, project_id)
        return row && aliasFrom(row)
      })
    },

    /** For whoever routes: of each alias, the release that it points at, and its boundary. R77: in steps. */
    async currentReleases(project_id: string): Promise<PointedRelease[]> {
      const current: PointedRelease[] = []
      const behind = ({ name }: Pick<PointedRow, 'name'>) =>
        db.rows<PointedRow>(sql`
          SELECT r.id, r.alias_name, r.targets, a.boundary, a.name
          FROM model_alias a JOIN alias_release r ON r.id = a.current_release_id
          WHERE a.project_id = ${project_id} AND a.name > ${name} ORDER BY a.name LIMIT ${LARGE_BATCH_ROWS}`)
      for await (const rows of inBatches({ name: '' }, behind, LARGE_BATCH_ROWS)) {
        current.push(...rows.map(pointedFrom))
        if (rows.length === LARGE_BATCH_ROWS) await nextTurn()
      }
      return current
    },

    /** The first target whose cluster or credential the project does not have, by its field. */
    async firstUnknown(project_id: string, targets: readonly AliasTarget[]): Promise<string | undefined> {
      for (const [at, { cluster_id, credential_id }] of targets.entries()) {
        if (cluster_id !== undefined && !(await hasCluster(db, project_id, cluster_id)))
          return `targets[${at}].cluster_id`
        if (credential_id !== undefined && !(await hasCredential(db, project_id, credential_id)))
          return `targets[${at}].credential_id`
      }
      return undefined
    },
  }
}

async function insertRelease(tx: Db, r: AliasRelease, now: number): Promise<void> {
  await tx.rows(sql`
    INSERT INTO alias_release (id, project_id, alias_id, alias_name, version, targets, evidence, created_at, sequence)
    VALUES (${r.id}, ${r.project_id}, ${r.alias_id}, ${r.alias_name}, ${r.version}, ${JSON.stringify(r.targets)},
            ${r.evidence ? JSON.stringify(r.evidence) : null}, ${r.created_at}, ${nextSequence(now)})`)
}

async function hasCluster(db: Db, project_id: string, id: string): Promise<boolean> {
  const rows = await db.rows(sql`SELECT id FROM byoc_cluster WHERE project_id = ${project_id} AND id = ${id}`)
  return rows.length === 1
}

/** A revoked credential has no secret left to call with. */
async function hasCredential(db: Db, project_id: string, id: string): Promise<boolean> {
  const rows = await db.rows(sql`
    SELECT id FROM provider_credential WHERE project_id = ${project_id} AND id = ${id} AND status <> 'revoked'`)
  return rows.length === 1
}

const aliasFrom = ({ boundary, ...row }: AliasRow): Alias => ({
  ...row,
  object: 'alias',
  ...(boundary !== null && { boundary }),
})

type PointedRow = Omit<PointedRelease, 'targets' | 'boundary'> & {
  targets: string
  boundary: Boundary | null
  name: string
}

const pointedFrom = ({ id, alias_name, targets, boundary }: PointedRow): PointedRelease => ({
  id,
  alias_name,
  targets: JSON.parse(targets),
  ...(boundary !== null && { boundary }),
})

const releaseFrom = ({ targets, evidence, ...row }: ReleaseRow): AliasRelease => ({
  ...row,
  object: 'alias_release',
  targets: JSON.parse(targets),
  ...(evidence !== null && { evidence: JSON.parse(evidence) }),
})

/** R70: how many a project has. */
export const aliasesPresent = (project_id: string) => sql`
  SELECT COUNT(*) AS present FROM model_alias WHERE project_id = ${project_id}`

/** Of aliases that are there: a release that outlives its alias is only to be looked up. */
export const releasesPresent = (project_id: string) => sql`
  SELECT COUNT(*) AS present FROM alias_release r WHERE r.project_id = ${project_id}
    AND EXISTS (SELECT 1 FROM model_alias a WHERE a.project_id = r.project_id AND a.id = r.alias_id)`
