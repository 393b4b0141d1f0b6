// Artifacts at rest: what is known of them, and who uploaded them. Their contents lie elsewhere.
import type { Content } from '../contents/content.ts'
import { nextSequence } from '../core/ids.ts'
import type { Maker } from '../core/maker.ts'
import { BATCH_ROWS, inBatches, mapped } from '../storage/batches.ts'
import { aside, beginning, type Db, sql } from '../storage/db.ts'
import type { Artifact, ArtifactKind } from './artifact.ts'

export interface StoredArtifact extends Content {
  artifact: Artifact
  sequence: number
}

interface Row extends Omit<Artifact, 'object'>, Content {
  sequence: number
}

/** What a list is narrowed to. */
export interface Asked {
  sha256?: string | undefined
  after?: Pick<StoredArtifact, 'sequence' | 'artifact'> | undefined
}

const fromRow = ({ place, content_id, sequence, ...facts }: Row): StoredArtifact => ({
  artifact: { ...facts, object: 'artifact' },
  place,
  content_id,
  sequence,
})

const artifacts = beginning(`
  SELECT id, project_id, kind, name, media_type, bytes, sha256, tokens_est, created_at, expires_at, last_used_at,
         place, content_id, sequence
  FROM artifact`)
const MAKERS_MAX = 1_000
const END = { sequence: Number.MAX_SAFE_INTEGER, id: '' }

export function artifactStore(db: Db) {
  return {
    /** One that has expired is gone, whether it was swept yet or not; but not while a bundle is made of it. */
    async find(project_id: string, id: string, now: string): Promise<StoredArtifact | undefined> {
      if (id.includes('\0')) return undefined // T-37: no id has one, and PostgreSQL would not even look
      const [row] = await db.rows<Row>(artifacts`
        WHERE project_id = ${project_id} AND id = ${id} AND (expires_at IS NULL OR expires_at > ${now}
          OR EXISTS (SELECT 1 FROM bundle_item WHERE bundle_item.artifact_id = artifact.id))`)
      return row && fromRow(row)
    },

    async findEqual(project_id: string, { sha256, kind }: Equal): Promise<StoredArtifact | undefined> {
      const [row] = await db.rows<Row>(artifacts`
        WHERE project_id = ${project_id} AND sha256 = ${sha256} AND kind = ${kind}`)
      return row && fromRow(row)
    },

    /** Newest first. */
    list: (project_id: string, { sha256 = '', after }: Asked, now: string) =>
      mapped(
        inBatches(after ? { sequence: after.sequence, id: after.artifact.id } : END, ({ sequence, id }) =>
          db.rows<Row>(
            aside(artifacts`
              WHERE project_id = ${project_id} AND (${sha256} = '' OR sha256 = ${sha256})
                AND (expires_at IS NULL OR expires_at > ${now}
                  OR EXISTS (SELECT 1 FROM bundle_item WHERE bundle_item.artifact_id = artifact.id))
                AND (sequence, id) < (${sequence}, ${id})
              ORDER BY sequence DESC, id DESC LIMIT ${BATCH_ROWS}`),
          ),
        ),
        (row) => fromRow(row).artifact,
      ),

    /** False where the project has one of these bytes and this kind. */
    async insert(artifact: Artifact, { place, content_id }: Content, now: number): Promise<boolean> {
      const { id, project_id, kind, name, media_type, bytes, sha256, tokens_est, created_at, expires_at } = artifact
      const made = await db.rows(sql`
        INSERT INTO artifact (id, project_id, kind, name, media_type, bytes, sha256, tokens_est, created_at, expires_at,
                              place, content_id, sequence)
        VALUES (${id}, ${project_id}, ${kind}, ${name}, ${media_type}, ${bytes}, ${sha256}, ${tokens_est},
                ${created_at}, ${expires_at}, ${place}, ${content_id}, ${nextSequence(now)})
        ON CONFLICT (project_id, sha256, kind) DO NOTHING RETURNING id`)
      return made.length === 1
    },

    /** Until the transaction ends nobody else changes it; false where it is gone. */
    async lock(project_id: string, id: string): Promise<boolean> {
      const locked = await db.rows(sql`
        UPDATE artifact SET sequence = sequence WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
      return locked.length === 1
    },

    /** Asked with the lock: whoever makes a bundle of it takes that too. */
    async isInBundle(project_id: string, id: string): Promise<boolean> {
      const used = await db.rows(sql`
        SELECT 1 AS used FROM bundle_item WHERE project_id = ${project_id} AND artifact_id = ${id} LIMIT 1`)
      return used.length === 1
    },

    /** The later end holds; without one there is none. */
    async keepUntil(project_id: string, id: string, expires_at: string | null): Promise<void> {
      await db.rows(sql`
        UPDATE artifact SET expires_at = ${expires_at}
        WHERE project_id = ${project_id} AND id = ${id} AND expires_at < COALESCE(${expires_at}, '9999')`)
    },

    /** Beyond a bound, whoever uploads it again may refer to it no more than anybody else. */
    async addMaker(project_id: string, id: string, { made_by, made_under }: Maker): Promise<void> {
      await db.rows(sql`
        INSERT INTO artifact_maker (project_id, artifact_id, made_by, made_under)
        SELECT project_id, id, CAST(${made_by} AS TEXT), CAST(${made_under} AS TEXT) FROM artifact
        WHERE project_id = ${project_id} AND id = ${id}
          AND (SELECT COUNT(*) FROM artifact_maker WHERE artifact_id = ${id}) < ${MAKERS_MAX}
        ON CONFLICT (artifact_id, made_by) DO NOTHING`)
    },

    /** A few are enough to tell whether there are others. */
    makersBeside: (project_id: string, id: string, who: string): Promise<Maker[]> =>
      db.rows<Maker>(sql`
        SELECT made_by, made_under FROM artifact_maker
        WHERE project_id = ${project_id} AND artifact_id = ${id}
          AND NOT (made_by = ${who} OR COALESCE(made_under, '') = ${who}) LIMIT 1`),

    /** R74: whether this key, this person, or a child of either uploaded it. */
    async isMadeBy(project_id: string, id: string, who: string): Promise<boolean> {
      const made = await db.rows(sql`
        SELECT 1 AS made FROM artifact_maker
        WHERE project_id = ${project_id} AND artifact_id = ${id} AND (made_by = ${who} OR made_under = ${who}) LIMIT 1`)
      return made.length === 1
    },

    /** With the lock: no bundle is made of it meanwhile. How many went: another may have deleted one of them. */
    async removeBundlesOf(project_id: string, id: string): Promise<number> {
      const bundles = await db.rows<{ bundle_id: string }>(sql`
        SELECT DISTINCT bundle_id FROM bundle_item WHERE project_id = ${project_id} AND artifact_id = ${id}`)
      let gone = 0
      for (const { bundle_id } of bundles) {
        await db.rows(sql`DELETE FROM bundle_item WHERE project_id = ${project_id} AND bundle_id = ${bundle_id}`)
        const removed = await db.rows(sql`
          DELETE FROM bundle WHERE project_id = ${project_id} AND id = ${bundle_id} RETURNING id`)
        gone += removed.length
      }
      return gone
    },

    async remove(project_id: string, id: string): Promise<StoredArtifact | undefined> {
      await db.rows(sql`DELETE FROM artifact_maker WHERE project_id = ${project_id} AND artifact_id = ${id}`)
      const [row] = await db.rows<Row>(sql`
        DELETE FROM artifact WHERE project_id = ${project_id} AND id = ${id}
        RETURNING id, project_id, kind, name, media_type, bytes, sha256, tokens_est, created_at, expires_at,
                  last_used_at, place, content_id, sequence`)
      return row && fromRow(row)
    },

    /** Of all projects, for the sweep. */
    expired: (now: string, most: number): Promise<{ project_id: string; id: string }[]> =>
      db.rows(sql`
        SELECT project_id, id FROM artifact WHERE expires_at <= ${now}
          AND NOT EXISTS (SELECT 1 FROM bundle_item WHERE bundle_item.artifact_id = artifact.id)
        ORDER BY expires_at LIMIT ${most}`),

    async noteUse(project_id: string, id: string, used_at: string): Promise<void> {
      await db.rows(sql`
        UPDATE artifact SET last_used_at = ${used_at}
        WHERE project_id = ${project_id} AND id = ${id} AND COALESCE(last_used_at, '') < ${used_at}`)
    },
  }
}

interface Equal {
  sha256: string
  kind: ArtifactKind
}
