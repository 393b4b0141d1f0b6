// §9.4: activations at rest, written in the transaction that moves the pointer; and the calls of a release.
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import { nextTurn } from '../core/turns.ts'
import { aside, type Db, joined, type Sql, sql } from '../storage/db.ts'
import type { Alias, NamedRelease } from './alias.ts'
import {
  ACTIVATIONS_MAX,
  type AliasActivation,
  CALLS_MAX,
  outcomeOf,
  type ReleaseCall,
  type ReleaseOutcome,
  type TimeRange,
} from './alias-activation.ts'

type Row = Omit<AliasActivation, 'object' | 'activated_at'> & { at_ms: number }

export interface Activation {
  alias: Pick<Alias, 'id' | 'project_id' | 'name'>
  release_id: string
  previous_release_id: string | null
  actor: string | null
}

export function activationStore(db: Db) {
  return {
    async record({ alias, release_id, previous_release_id, actor }: Activation, now: number): Promise<void> {
      if (release_id === previous_release_id) return
      const { id, project_id, name } = alias
      await db.rows(sql`
        INSERT INTO alias_activation (project_id, alias_id, alias_name, release_id, previous_release_id, actor, at_ms,
                                      sequence)
        VALUES (${project_id}, ${id}, ${name}, ${release_id}, ${previous_release_id}, ${actor}, ${now},
                ${nextSequence(now)})`)
      await db.rows(sql`
        DELETE FROM alias_activation WHERE project_id = ${project_id} AND alias_id = ${id} AND sequence <= (
          SELECT sequence FROM alias_activation WHERE project_id = ${project_id} AND alias_id = ${id}
          ORDER BY sequence DESC LIMIT 1 OFFSET ${ACTIVATIONS_MAX})`)
    },

    /** Newest first. */
    async ofAlias({ project_id, id }: Pick<Alias, 'project_id' | 'id'>): Promise<AliasActivation[]> {
      return read(sql`a.project_id = ${project_id} AND a.alias_id = ${id} ORDER BY a.sequence DESC`)
    },

    /** Of every alias, those that are deleted among them; the newest of the range. */
    async between(project_id: string, { from_ms, to_ms }: TimeRange): Promise<AliasActivation[]> {
      return read(sql`
        a.project_id = ${project_id} AND a.at_ms >= ${from_ms} AND a.at_ms < ${to_ms}
        ORDER BY a.at_ms DESC, a.sequence DESC`)
    },

    /** How the latest calls of each release went, in the order of the releases. */
    async outcomes(project_id: string, releases: readonly NamedRelease[]): Promise<ReleaseOutcome[]> {
      const told: ReleaseOutcome[] = []
      for (const release of releases) {
        const calls = await db.rows<ReleaseCall>(
          aside(sql`
            SELECT created_ms, status, charged_micros, input_tokens, output_tokens, ttft_ms, duration_ms
            FROM usage_event WHERE project_id = ${project_id} AND alias_release_id = ${release.id}
            ORDER BY created_ms DESC LIMIT ${CALLS_MAX}`),
        )
        told.push(outcomeOf(release, calls))
        await nextTurn()
      }
      return told
    },
  }

  async function read(where: Sql): Promise<AliasActivation[]> {
    const rows = await db.rows<Row>(
      joined(
        sql`SELECT a.alias_id, a.alias_name, a.release_id, r.version, a.previous_release_id,
              p.version AS previous_version, a.actor AS activated_by, a.at_ms
            FROM alias_activation a JOIN alias_release r ON r.id = a.release_id
            LEFT JOIN alias_release p ON p.id = a.previous_release_id WHERE `,
        where,
        sql` LIMIT ${ACTIVATIONS_MAX}`,
      ),
    )
    return rows.map(({ at_ms, ...row }) => ({ object: 'alias_activation', ...row, activated_at: rfc3339(at_ms) }))
  }
}
