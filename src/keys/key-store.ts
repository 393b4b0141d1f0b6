// API keys at rest. Every query names the project, so no caller can reach another project's key (§5.8); only the
// look-up by hash, which is how a caller's project becomes known, does not.
import type { Caller } from '../core/caller.ts'
import { nextSequence } from '../core/ids.ts'
import type { Scope } from '../core/scopes.ts'
import { type Db, sql } from '../storage/db.ts'
import type { ApiKey, MintedKey } from './key.ts'

interface Row {
  id: string
  project_id: string
  name: string
  masked: string
  scopes: string
  status: ApiKey['status']
  created_at: string
  last_used_at: string | null
  budget_micros: number | null
  spent_micros: number
}

export type KeyStore = ReturnType<typeof keyStore>

export function keyStore(db: Db) {
  return {
    async insert({ api_key: k, hash, origin }: MintedKey, now: number): Promise<void> {
      await db.rows(sql`
        INSERT INTO api_key (id, project_id, name, masked, hash, origin, scopes, status,
                             created_at, sequence, spent_micros)
        VALUES (${k.id}, ${k.project_id}, ${k.name}, ${k.masked}, ${hash}, ${origin}, ${k.scopes.join(' ')},
                ${k.status}, ${k.created_at}, ${nextSequence(now)}, ${k.spent_micros})`)
    },

    async list(project_id: string): Promise<ApiKey[]> {
      const rows = await db.rows<Row>(sql`
        SELECT id, project_id, name, masked, scopes, status, created_at, last_used_at, budget_micros, spent_micros
        FROM api_key WHERE project_id = ${project_id} ORDER BY sequence DESC`)
      return rows.map(fromRow)
    },

    /** §3.2: the hash goes with the revocation. Revoking again finds the key all the same (R7). */
    async revoke(project_id: string, id: string): Promise<boolean> {
      const revoked = await db.rows(sql`
        UPDATE api_key SET status = 'revoked', hash = NULL
        WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
      return revoked.length === 1
    },

    async setBudget(project_id: string, id: string, budget_micros: number | null): Promise<ApiKey | undefined> {
      const [row] = await db.rows<Row>(sql`
        UPDATE api_key SET budget_micros = ${budget_micros} WHERE project_id = ${project_id} AND id = ${id}
        RETURNING id, project_id, name, masked, scopes, status, created_at, last_used_at, budget_micros, spent_micros`)
      return row && fromRow(row)
    },

    async find(project_id: string, id: string): Promise<ApiKey | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT id, project_id, name, masked, scopes, status, created_at, last_used_at, budget_micros, spent_micros
        FROM api_key WHERE project_id = ${project_id} AND id = ${id}`)
      return row && fromRow(row)
    },

    async findHolder(hash: string): Promise<Caller | undefined> {
      const [row] = await db.rows<HolderRow>(sql`
        SELECT k.id AS key_id, k.project_id, k.scopes, o.verified_at, k.budget_micros, p.cap_micros, p.routing_epoch,
               k.requests_per_minute, k.tokens_per_minute, k.concurrent_streams
        FROM api_key k JOIN project p ON p.id = k.project_id JOIN person o ON o.id = p.owner_id
        WHERE k.hash = ${hash} AND k.status = 'active'`)
      return row && holderOf(row)
    },

    /** The few keys whose form the operator chose; everything else must carry our checksum (R5). */
    async operatorHashes(): Promise<Set<string>> {
      const rows = await db.rows<{ hash: string }>(sql`
        SELECT hash FROM api_key WHERE origin = 'operator' AND hash IS NOT NULL`)
      return new Set(rows.map((row) => row.hash))
    },

    /** Never moves a time back: replicas write in any order. */
    async recordUses(uses: readonly { key_id: string; at: string }[]): Promise<void> {
      await db.transaction(async (tx) => {
        for (const { key_id, at } of uses)
          await tx.rows(sql`
            UPDATE api_key SET last_used_at = ${at}
            WHERE id = ${key_id} AND (last_used_at IS NULL OR last_used_at < ${at})`)
      })
    },
  }
}

interface HolderRow {
  key_id: string
  project_id: string
  scopes: string
  verified_at: string | null
  budget_micros: number | null
  cap_micros: number | null
  routing_epoch: number
  requests_per_minute: number | null
  tokens_per_minute: number | null
  concurrent_streams: number | null
}

function holderOf(row: HolderRow): Caller {
  const { key_id, project_id, routing_epoch, scopes, verified_at, budget_micros, cap_micros } = row
  const { requests_per_minute, tokens_per_minute, concurrent_streams } = row
  const has_limits = (requests_per_minute ?? tokens_per_minute ?? concurrent_streams) !== null
  return {
    key_id,
    project_id,
    routing_epoch,
    scopes: scopes.split(' ') as Scope[],
    owner_verified: verified_at !== null,
    budget_micros: budget_micros ?? undefined,
    project_cap_micros: cap_micros ?? undefined,
    ...(has_limits && { limits: { requests_per_minute, tokens_per_minute, concurrent_streams } }),
  }
}

function fromRow(row: Row): ApiKey {
  const { scopes, last_used_at, budget_micros, ...rest } = row
  return {
    ...rest,
    object: 'api_key',
    scopes: scopes.split(' ') as Scope[],
    ...(last_used_at !== null && { last_used_at }),
    ...(budget_micros !== null && { budget_micros }),
  }
}
