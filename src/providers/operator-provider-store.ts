// Providers that the operator added over the API, at rest (0343). They belong to no project. Secrets are sealed under
// the provider's own id: moved to another row, they do not open.
import { rfc3339 } from '../core/clock.ts'
import { nextSequence } from '../core/ids.ts'
import type { Sealing } from '../core/sealing.ts'
import { type Db, sql } from '../storage/db.ts'
import { apart, type ChangeKind, type Entered, type ProviderVersion, type Secrets } from './operator-provider.ts'

const SEALED_AS = 'operator provider'
const VERSIONS_MAX = 200 // of one provider
const REVISIONS_MAX = 10_000 // of all, those that are gone among them

export type ProviderStatus = 'active' | 'draining'

export interface StoredProvider {
  id: string
  version: number
  status: ProviderStatus
  entered: Entered
  secrets: Secrets
  created_at: string
  updated_at: string
  updated_by: string
}

/** What becomes of a provider. */
export interface NextVersion {
  status: ProviderStatus
  entered: Entered
  secrets: Secrets
  change: ChangeKind
  fields: readonly string[]
  actor: string
}

interface Row extends Omit<StoredProvider, 'entered' | 'secrets'> {
  entered: string
  sealed: Uint8Array
}

type VersionRow = Omit<ProviderVersion, 'object' | 'entered' | 'fields'> & { entered: string; fields: string }

export type OperatorProviderStore = ReturnType<typeof operatorProviderStore>

export function operatorProviderStore(db: Db, { seal, open }: Pick<Sealing, 'seal' | 'open'>) {
  // Apart here too: an earlier version did not take all that is secret for a secret.
  function fromRow({ entered: text, sealed, ...row }: Row): StoredProvider {
    const { entered, secrets } = apart(JSON.parse(text))
    const opened = sealed.length === 0 ? {} : JSON.parse(open(sealed, SEALED_AS, row.id).toString()) // none: dropped
    return { ...row, entered, secrets: { ...secrets, ...opened } }
  }
  const sealedOf = (id: string, secrets: Secrets) => seal(Buffer.from(JSON.stringify(secrets)), SEALED_AS, id)

  return {
    /** How many changes there were; it is cheap to ask. */
    async revision(): Promise<number> {
      const [row] = await db.rows<{ revision: number }>(sql`
        SELECT revision FROM operator_provider_revision WHERE name = 'providers'`)
      return row?.revision ?? 0
    },

    /** In the order in which they were added, which is that of preference. */
    async list(): Promise<StoredProvider[]> {
      const rows = await db.rows<Row>(sql`
        SELECT id, version, status, entered, sealed, created_at, updated_at, updated_by
        FROM operator_provider ORDER BY sequence, id`)
      return rows.map(fromRow)
    },

    async find(id: string): Promise<StoredProvider | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT id, version, status, entered, sealed, created_at, updated_at, updated_by
        FROM operator_provider WHERE id = ${id}`)
      return row && fromRow(row)
    },

    /** Before anything else of a change, so that another one waits until this one is done. */
    async beginChange(): Promise<number> {
      const [row] = await db.rows<{ revision: number }>(sql`
        UPDATE operator_provider_revision SET revision = revision + 1 WHERE name = 'providers' RETURNING revision`)
      return row?.revision ?? 0
    },

    /** Numbered on where one of this name was removed before. */
    async put(id: string, next: NextVersion, revision: number, now: number): Promise<void> {
      const at = rfc3339(now)
      const version = await record(db, { id, revision, at }, next)
      await db.rows(sql`
        INSERT INTO operator_provider (id, version, status, entered, sealed, created_at, updated_at, updated_by,
                                       sequence)
        VALUES (${id}, ${version}, ${next.status}, ${JSON.stringify(next.entered)}, ${sealedOf(id, next.secrets)},
                ${at}, ${at}, ${next.actor}, ${nextSequence(now)})
        ON CONFLICT (id) DO UPDATE SET version = excluded.version, status = excluded.status,
          entered = excluded.entered, sealed = excluded.sealed, updated_at = excluded.updated_at,
          updated_by = excluded.updated_by`)
    },

    /** With its secrets. */
    async remove(stored: StoredProvider, actor: string, revision: number, now: number): Promise<void> {
      const { id, status, entered } = stored
      const next = { status, entered, secrets: {}, change: 'removed' as const, fields: [], actor }
      await record(db, { id, revision, at: rfc3339(now) }, next)
      await db.rows(sql`DELETE FROM operator_provider WHERE id = ${id}`)
    },

    /** Newest first. */
    async versions(id: string): Promise<ProviderVersion[]> {
      const rows = await db.rows<VersionRow>(sql`
        SELECT provider_id, version, change, fields, status, entered, actor, created_at
        FROM operator_provider_version WHERE provider_id = ${id} ORDER BY version DESC LIMIT ${VERSIONS_MAX}`)
      return rows.map(versionFrom)
    },

    async version(id: string, version: number): Promise<ProviderVersion | undefined> {
      const [row] = await db.rows<VersionRow>(sql`
        SELECT provider_id, version, change, fields, status, entered, actor, created_at
        FROM operator_provider_version WHERE provider_id = ${id} AND version = ${version}`)
      return row && versionFrom(row)
    },

    /** Aliases of projects whose present release names the provider. Told by how many, never by whose. */
    async aliasesNaming(id: string): Promise<number> {
      const rows = await db.rows<{ targets: string }>(sql`
        SELECT r.targets FROM model_alias a JOIN alias_release r ON r.id = a.current_release_id
        WHERE r.targets LIKE ${`%"provider":"${id}"%`}`)
      const names = ({ targets }: { targets: string }) =>
        (JSON.parse(targets) as { provider?: string }[]).some(({ provider }) => provider === id)
      return rows.filter(names).length // in a pattern, `_` stands for any character
    },
  }
}

interface At {
  id: string
  revision: number
  at: string
}

async function record(db: Db, { id, revision, at }: At, next: NextVersion): Promise<number> {
  const [last] = await db.rows<{ version: number }>(sql`
    SELECT version FROM operator_provider_version WHERE provider_id = ${id}
    UNION ALL SELECT version FROM operator_provider WHERE id = ${id} ORDER BY version DESC LIMIT 1`)
  const version = (last?.version ?? 0) + 1
  await db.rows(sql`
    INSERT INTO operator_provider_version (provider_id, version, revision, change, fields, status, entered, actor,
                                           created_at)
    VALUES (${id}, ${version}, ${revision}, ${next.change}, ${JSON.stringify(next.fields)}, ${next.status},
            ${JSON.stringify(next.entered)}, ${next.actor}, ${at})`)
  await db.rows(sql`
    DELETE FROM operator_provider_version
    WHERE (provider_id = ${id} AND version <= ${version - VERSIONS_MAX}) OR revision <= ${revision - REVISIONS_MAX}`)
  return version
}

const versionFrom = ({ entered, fields, ...row }: VersionRow): ProviderVersion => ({
  ...row,
  object: 'provider_version',
  entered: apart(JSON.parse(entered)).entered,
  fields: JSON.parse(fields),
})
