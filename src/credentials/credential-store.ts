// Provider credentials at rest. A secret is sealed under its project and its own id: moved to another row, or into
// another project, it does not open.
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import type { Sealing } from '../core/sealing.ts'
import { credentialRefused } from '../notifications/happening.ts'
import { LARGE_BATCH_ROWS, mapped, newestFirst, type Place } from '../storage/batches.ts'
import { type Db, sql } from '../storage/db.ts'
import { raiseRoutingEpoch } from '../storage/routing-epoch.ts'
import { tell } from '../storage/telling.ts'
import { type Credential, type EnteredCredential, REFUSALS_MAX, readSettings, settingsOf } from './credential.ts'

type Row = Omit<Credential, 'object' | 'base_url' | 'verified_at' | 'models'> & {
  base_url: string | null
  settings: string | null
  verified_at: string | null
}

/** R70: revoked ones are no part of a quota. So many of a project stay to be seen, those that were entered last. */
export const REVOKED_MAX = 1_000

export type CredentialStore = ReturnType<typeof credentialStore>

export function credentialStore(db: Db, { seal, open }: Sealing) {
  return {
    async insert({ credential: c, secret }: EnteredCredential, now: number): Promise<void> {
      const sealed = seal(Buffer.from(secret), c.project_id, c.id)
      const said = settingsOf(c)
      const settings = said === undefined ? null : JSON.stringify(said)
      await db.transaction(async (tx) => {
        await tx.rows(sql`
          INSERT INTO provider_credential (id, project_id, provider, name, masked, base_url, settings, sealed, status,
                                           created_at, sequence)
          VALUES (${c.id}, ${c.project_id}, ${c.provider}, ${c.name}, ${c.masked}, ${c.base_url ?? null}, ${settings},
                  ${sealed}, ${c.status}, ${c.created_at}, ${nextSequence(now)})`)
        await raiseRoutingEpoch(tx, c.project_id)
      })
    },

    /** All of them, newest first. */
    list: (project_id: string) =>
      mapped(
        newestFirst(
          ({ sequence, id }) =>
            db.rows<Row & Place>(sql`
              SELECT id, project_id, provider, name, masked, base_url,
                     CASE WHEN status = 'revoked' THEN NULL ELSE settings END AS settings, status, created_at,
                     verified_at, sequence
              FROM provider_credential WHERE project_id = ${project_id} AND (sequence, id) < (${sequence}, ${id})
              ORDER BY sequence DESC, id DESC LIMIT ${LARGE_BATCH_ROWS}`),
          LARGE_BATCH_ROWS,
        ),
        ({ sequence: _sequence, ...row }) => fromRow(row),
      ),

    async find(project_id: string, id: string): Promise<Credential | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT id, project_id, provider, name, masked, base_url, settings, status, created_at, verified_at
        FROM provider_credential WHERE project_id = ${project_id} AND id = ${id}`)
      return row && fromRow(row)
    },

    /** For the call itself, and for nothing that anybody could read. Undefined once revoked. */
    async secretOf(project_id: string, id: string): Promise<string | undefined> {
      const [row] = await db.rows<{ sealed: Uint8Array | null }>(sql`
        SELECT sealed FROM provider_credential WHERE project_id = ${project_id} AND id = ${id}`)
      return row?.sealed ? open(row.sealed, project_id, id).toString() : undefined
    },

    /**
     * The secret goes with the revocation, and so does what it said of models; the credential stays to be seen, until
     * so many were entered later and are revoked as well. Revoking again finds it all the same.
     */
    async revoke(project_id: string, id: string): Promise<boolean> {
      return db.transaction(async (tx) => {
        const revoked = await tx.rows(sql`
          UPDATE provider_credential SET status = 'revoked', sealed = NULL, settings = NULL
          WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
        if (revoked.length === 0) return false
        await tx.rows(sql`
          DELETE FROM provider_credential WHERE project_id = ${project_id} AND status = 'revoked' AND sequence <= (
            SELECT sequence FROM provider_credential WHERE project_id = ${project_id} AND status = 'revoked'
            ORDER BY sequence DESC LIMIT 1 OFFSET ${REVOKED_MAX})`)
        await raiseRoutingEpoch(tx, project_id)
        return true
      })
    },

    /** What the provider said. A credential that was revoked while it was asked stays revoked. */
    async recordVerdict(
      project_id: string,
      id: string,
      status: 'active' | 'refused',
      now: number,
    ): Promise<Credential | undefined> {
      return db.transaction(async (tx) => {
        const [row] = await tx.rows<Row>(sql`
          UPDATE provider_credential
          SET status = CASE WHEN status = 'revoked' THEN status ELSE ${status} END,
              verified_at = CASE WHEN status = 'revoked' THEN verified_at ELSE ${rfc3339(now)} END, refusals = 0
          WHERE project_id = ${project_id} AND id = ${id}
          RETURNING id, project_id, provider, name, masked, base_url, settings, status, created_at, verified_at`)
        if (row) await raiseRoutingEpoch(tx, project_id)
        if (row?.status === 'refused') await tell(tx, credentialRefused(row), now)
        return row && fromRow(row)
      })
    },

    /** R73: a call was refused with it. After the third in a row, over all replicas, nothing goes through it. */
    async noteRefused(project_id: string, id: string, now: number): Promise<void> {
      await db.transaction(async (tx) => {
        const [counted] = await tx.rows<Pick<Row, 'id' | 'project_id' | 'name' | 'provider' | 'status'>>(sql`
          UPDATE provider_credential SET refusals = refusals + 1,
            status = CASE WHEN refusals + 1 >= ${REFUSALS_MAX} THEN 'refused' ELSE status END
          WHERE project_id = ${project_id} AND id = ${id} AND status = 'active'
          RETURNING id, project_id, name, provider, status`)
        // Whoever routes must know that the next call that is taken ends the row.
        if (counted) await raiseRoutingEpoch(tx, project_id)
        if (counted?.status === 'refused') await tell(tx, credentialRefused(counted), now)
      })
    },

    /** R73: a call was taken with it, after one or two that were not. */
    async noteTaken(project_id: string, id: string): Promise<void> {
      await db.transaction(async (tx) => {
        const ended = await tx.rows(sql`
          UPDATE provider_credential SET refusals = 0
          WHERE project_id = ${project_id} AND id = ${id} AND status = 'active' AND refusals > 0 RETURNING id`)
        if (ended.length > 0) await raiseRoutingEpoch(tx, project_id)
      })
    },
  }
}

function fromRow({ base_url, settings, verified_at, ...row }: Row): Credential {
  return {
    ...row,
    object: 'provider_credential',
    ...(base_url !== null && { base_url }),
    ...(readSettings(settings) as Pick<Credential, 'region' | 'models'> | undefined),
    ...(verified_at !== null && { verified_at }),
  }
}

/** R70: how many of a project's are not revoked. */
export const credentialsPresent = (project_id: string) => sql`
  SELECT COUNT(*) AS present FROM provider_credential WHERE project_id = ${project_id} AND status <> 'revoked'`
