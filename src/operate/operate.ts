// What an operator does to the store by hand: found a project beside a running server, and go on with another secret.
import { existsSync } from 'node:fs'
import { emailAddress, type Person, type Project } from '../accounts/account.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { sealing } from '../core/sealing.ts'
import { LABEL_MAX } from '../core/shapes.ts'
import type { ApiKey } from '../keys/key.ts'
import { type Founding, foundProject } from '../start/bootstrap.ts'
import type { Config } from '../start/config.ts'
import { openStore, openUnderAnySecret } from '../start/open-store.ts'
import { FolderError, lockFolder, storeFile } from '../storage/data-folder.ts'
import { type Db, sql } from '../storage/db.ts'
import { noteDeed } from './operator-notes.ts'

/** An order that cannot be carried out as things stand; the message says what is in the way. */
export class OperationError extends Error {
  override readonly name = 'OperationError'
}

export interface CreatedProject {
  project: Project
  owner: Pick<Person, 'id' | 'email' | 'verified_at'>
  api_key: ApiKey
  /** The raw admin key: known here, once. */
  key: string
}

export async function createProject(config: Config, founding: Founding, clock = systemClock): Promise<CreatedProject> {
  if ([...founding.name].length > LABEL_MAX)
    throw new Refusal('invalid_request', `'name' must have at most ${LABEL_MAX} characters.`)
  const { db } = await openStore(config, clock)
  try {
    await assertNameFree(db, founding)
    const { project, key } = await db.transaction(async (tx) => {
      const founded = await foundProject(tx, founding, clock.now())
      const { id } = founded.project
      await noteDeed(tx, { project_id: id, action: 'switchyard project create', target: id }, clock.now())
      return founded
    })
    // Read back rather than assumed: an address that was verified before stays verified.
    const [owner] = await db.rows<CreatedProject['owner']>(sql`
      SELECT id, email, verified_at FROM person WHERE id = ${project.owner_id}`)
    if (!owner) throw new Error(`project ${project.id} has no owner`)
    return { project, owner, api_key: key.api_key, key: key.raw }
  } finally {
    await db.close()
  }
}

/** 0162: what is called alike and belongs to the same person cannot be told apart. */
async function assertNameFree(db: Db, { name, owner_email }: Founding): Promise<void> {
  const [taken] = await db.rows<{ id: string }>(sql`
    SELECT p.id FROM project p JOIN person o ON o.id = p.owner_id
    WHERE o.email = ${emailAddress(owner_email)} AND p.name = ${name.trim()} LIMIT 1`)
  if (taken) throw new OperationError(`${owner_email} owns a project '${name}' already: ${taken.id}.`)
}

export interface Adoption {
  /** False where the store already went by this secret. */
  adopted: boolean
  /** Kept responses that only the old secret could open. */
  dropped: number
}

/** Makes the present secret the store's own. No server may run meanwhile: it would go on sealing with the old one. */
export async function adoptSecret(config: Config, clock: Clock = systemClock): Promise<Adoption> {
  if (!config.database_url) assertStoreIn(config.data_dir)
  const { unlock } = config.database_url ? { unlock: () => {} } : lockFolder(config.data_dir)
  try {
    const { db, secret } = await openUnderAnySecret(config, clock)
    try {
      if (db.engine === 'postgres') await assertNotServed(db)
      return await adopt(db, sealing(secret).fingerprint())
    } finally {
      await db.close()
    }
  } finally {
    unlock()
  }
}

const DROP_MAX = 1_000 // rows in one go: a large table must not run into the statement time-out

/** The fingerprint comes last: stopped half way, the store is still the old secret's, and this can be run again. */
async function adopt(db: Db, fingerprint: string): Promise<Adoption> {
  const [present] = await db.rows<{ value: string }>(sql`SELECT value FROM setting WHERE name = 'secret_fingerprint'`)
  if (present?.value === fingerprint) return { adopted: false, dropped: 0 }
  let dropped = 0
  for (let rows = DROP_MAX; rows === DROP_MAX; dropped += rows) {
    const gone = await db.rows(sql`
      DELETE FROM idempotency WHERE digest IN (SELECT digest FROM idempotency LIMIT ${DROP_MAX}) RETURNING digest`)
    rows = gone.length
  }
  // Credentials must be entered again; conversations keep their course, but not their words.
  await db.rows(sql`
    UPDATE provider_credential SET sealed = NULL, status = 'revoked' WHERE sealed IS NOT NULL`)
  // So must the secrets of providers that were added over the API; until then they take no calls.
  await db.rows(sql`UPDATE operator_provider SET sealed = ${new Uint8Array(0)}, status = 'draining'`)
  await db.rows(sql`
    UPDATE session_event SET sealed = NULL, parts_id = NULL, parts_bytes = NULL
    WHERE sealed IS NOT NULL OR parts_id IS NOT NULL`)
  await db.rows(sql`UPDATE agent_session SET content_bytes = 0 WHERE content_bytes > 0`)
  await db.rows(sql`DELETE FROM stored_response`)
  await db.rows(sql`DELETE FROM background_events`)
  await db.rows(sql`DELETE FROM background_response`) // nobody can read any more what they ask for
  await db.rows(sql`DELETE FROM large_body_part`) // of all of these
  await dropArtifacts(db)
  await dropRecordings(db)
  await db.rows(sql`DELETE FROM replay_output`)
  await db.rows(sql`UPDATE project_quota SET present = 0 WHERE kind = 'replay_outputs_mib'`)
  // Where they lead, and what they sign with, nobody knows any more: they must be made anew.
  await db.rows(sql`UPDATE notification_channel SET status = 'disabled', sealed_previous = NULL, previous_until = NULL`)
  await db.rows(sql`UPDATE project SET routing_epoch = routing_epoch + 1`)
  await db.rows(sql`
    INSERT INTO setting (name, value) VALUES ('secret_fingerprint', ${fingerprint})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`)
  return { adopted: true, dropped }
}

/** Nobody can open their contents any more; these go with the next sweep. */
async function dropArtifacts(db: Db): Promise<void> {
  await db.rows(sql`
    INSERT INTO artifact_loose_content (content_id, place, state, since_ms)
    SELECT content_id, place, 'erasing', 0 FROM artifact`)
  await db.rows(sql`DELETE FROM bundle_item`)
  await db.rows(sql`DELETE FROM bundle`)
  await db.rows(sql`DELETE FROM artifact_maker`)
  await db.rows(sql`DELETE FROM artifact`)
  await db.rows(sql`UPDATE project_quota SET present = 0 WHERE kind IN ('artifacts', 'artifacts_mib', 'bundles')`)
}

async function dropRecordings(db: Db): Promise<void> {
  await db.rows(sql`
    INSERT INTO artifact_loose_content (content_id, place, state, since_ms, kept_for)
    SELECT content_id, place, 'erasing', 0, 'recordings' FROM recording_pack WHERE content_id IS NOT NULL`)
  await db.rows(sql`DELETE FROM recording`)
  await db.rows(sql`DELETE FROM recording_pack`)
  await db.rows(sql`UPDATE project_quota SET present = 0 WHERE kind IN ('recordings', 'recordings_mib')`)
}

export function assertStoreIn(dir: string): void {
  if (!existsSync(storeFile(dir)))
    throw new FolderError(`There is no store in ${dir}. Set SWITCHYARD_DATA_DIR to the folder that has one.`)
}

/** PostgreSQL knows who is connected; the embedded store has its folder's lock for this. */
export async function assertNotServed(db: Db): Promise<void> {
  const others = await db.rows(sql`
    SELECT pid FROM pg_stat_activity
    WHERE application_name = 'switchyard' AND datname = current_database() AND pid <> pg_backend_pid()`)
  if (others.length > 0) throw new OperationError('Another switchyard is connected to this database. Stop it first.')
}
