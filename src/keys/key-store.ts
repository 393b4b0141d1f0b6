// API keys at rest. Every query names the project, so no caller can reach another project's key (§5.8); only the
// look-up by hash, which is how a caller's project becomes known, does not.
import { type WindowLimit, windowEnd, windowStart } from '../budgets/budget-window.ts'
import type { Caller } from '../core/caller.ts'
import { nextSequence } from '../core/ids.ts'
import { BATCH_ROWS, inBatches, mapped } from '../storage/batches.ts'
import { beginning, type Columns, type Db, fixed, joined, type OpenDb, sql } from '../storage/db.ts'
import type { ApiKey, MintedKey, NewSecret } from './key.ts'
import type { KeyPlace } from './key-list.ts'
import { type HolderRow, holderOf, type KeyRow, keyOf } from './key-rows.ts'
import { spentSince } from './key-spending-store.ts'
import type { CheckedTerms } from './key-terms.ts'

export type KeyStore = ReturnType<typeof keyStore>

export interface KeysAsked {
  parent_id?: string | undefined
  /** Of its secret, or the one before. */
  sha256?: string | undefined
  after?: KeyPlace | undefined
  limit?: number | undefined
}

const FORGOTTEN_AT_ONCE = 200

export type Edit = CheckedTerms & { name: string | undefined }

export function keyStore(db: Db) {
  /** Newest first: all keys, or what is asked for. By places, so the last page costs what the first does. */
  const rowsOf = (project_id: string, { parent_id, sha256, after, limit }: KeysAsked) =>
    db.rows<KeyRow & KeyPlace>(
      joined(
        sql`SELECT sequence, `,
        fixed(KEY),
        sql` FROM api_key WHERE project_id = ${project_id}`,
        parent_id === undefined ? sql`` : sql` AND parent_id = ${parent_id}`,
        sha256 === undefined ? sql`` : sql` AND (hash = ${sha256} OR previous_hash = ${sha256})`,
        after ? sql` AND (sequence, id) < (${after.sequence}, ${after.id})` : sql``,
        sql` ORDER BY sequence DESC, id DESC`,
        limit === undefined ? sql`` : sql` LIMIT ${limit}`,
      ),
    )

  /** Where a key stands in the list. */
  async function place(project_id: string, id: string): Promise<KeyPlace | undefined> {
    const [row] = await db.rows<KeyPlace>(sql`
      SELECT sequence, id FROM api_key WHERE project_id = ${project_id} AND id = ${id}`)
    return row
  }

  return {
    place,

    list: async (project_id: string, asked: KeysAsked = {}): Promise<ApiKey[]> =>
      (await rowsOf(project_id, asked)).map(listed),

    /** All of them, a batch at a time (R70). */
    listAll: (project_id: string, asked: Omit<KeysAsked, 'limit'>) =>
      mapped(
        inBatches(asked.after, (after) => rowsOf(project_id, { ...asked, after, limit: BATCH_ROWS })),
        listed,
      ),

    async insert(minted: MintedKey, now: number): Promise<MintedKey> {
      const { api_key: k, hash, origin } = minted
      await db.rows(sql`
        INSERT INTO api_key (id, project_id, name, masked, hash, origin, scopes, status,
                             created_at, sequence, spent_micros,
                             budget_micros, parent_id, expires_at, allowed_models, allowed_cidrs, allowed_clusters,
                             clamp_output, max_parallel_requests)
        VALUES (${k.id}, ${k.project_id}, ${k.name}, ${k.masked}, ${hash}, ${origin}, ${k.scopes.join(' ')},
                ${k.status}, ${k.created_at}, ${nextSequence(now)}, ${k.spent_micros},
                ${k.budget_micros ?? null}, ${k.parent_id ?? null}, ${k.expires_at ? Date.parse(k.expires_at) : null},
                ${json(k.allowed_models)}, ${json(k.allowed_cidrs)}, ${json(k.allowed_clusters)},
                ${k.clamp_output ? 1 : null}, ${k.max_parallel_requests ?? null})`)
      return minted
    },

    /**
     * §3.2: the hash goes with the revocation, and the views that it saved. Revoking again finds the key all the same
     * (R7). A key with money carved out of it, or carved out itself, is left alone: its family must end with it (R64).
     */
    async revoke(project_id: string, id: string): Promise<boolean> {
      return db.transaction(async (tx) => {
        const revoked = await tx.rows(sql`
          UPDATE api_key SET status = 'revoked', previous_hash = NULL, previous_expires_at = NULL, hash = NULL
          WHERE project_id = ${project_id} AND id = ${id} AND parent_id IS NULL AND open_children = 0 RETURNING id`)
        if (revoked.length === 0) return false
        await tx.rows(sql`DELETE FROM saved_view WHERE project_id = ${project_id} AND owner = ${id}`)
        return true
      })
    },

    /**
     * R74: whether another key can still manage the project. The project's row is taken first: of two that would end
     * at once, each counting on the other, the second waits and finds itself the last.
     */
    async hasOtherAdmin(project_id: string, id: string, now: number): Promise<boolean> {
      await db.rows(sql`UPDATE project SET held_micros = held_micros WHERE id = ${project_id}`)
      const others = await db.rows(otherAdmins(project_id, id, now))
      return others.length > 0
    },

    /** A child's is part of its parent's, so it stays as it is. */
    async setBudget(project_id: string, id: string, budget_micros: number | null): Promise<ApiKey | undefined> {
      const set = sql`
        UPDATE api_key SET budget_micros = ${budget_micros}
        WHERE project_id = ${project_id} AND id = ${id} AND parent_id IS NULL RETURNING `
      const [row] = await db.rows<KeyRow>(joined(set, fixed(KEY)))
      return row && keyOf(row)
    },

    /** R65: what was spent since the window began counts from the start. */
    async setWindow(project_id: string, id: string, window: WindowLimit | null, now: number): Promise<void> {
      const { period = null, limit_micros = null } = window ?? {}
      await db.transaction(async (tx) => {
        const kept = await tx.rows(sql`
          UPDATE api_key SET window_limit_micros = ${limit_micros}
          WHERE project_id = ${project_id} AND id = ${id} AND window_period = ${period} AND window_ends_at > ${now}
          RETURNING id`)
        if (kept.length === 1) return
        // Once this row is ours, whoever settles waits: what is then on record is all there is.
        await tx.rows(sql`
          UPDATE api_key SET window_period = ${period}, window_limit_micros = ${limit_micros}, window_spent_micros = 0,
                             window_ends_at = ${period && windowEnd(period, now)}
          WHERE project_id = ${project_id} AND id = ${id} AND parent_id IS NULL`)
        if (period === null) return
        const spent = spentSince(windowStart(period, now), windowEnd(period, now), { project_id, id })
        await tx.rows(
          joined(
            sql`UPDATE api_key SET window_spent_micros = `,
            spent,
            sql` WHERE project_id = ${project_id} AND id = ${id} AND parent_id IS NULL`,
          ),
        )
      })
    },

    async find(project_id: string, id: string): Promise<ApiKey | undefined> {
      const [row] = await db.rows<KeyRow>(keysWhere` WHERE project_id = ${project_id} AND id = ${id}`)
      return row && keyOf(row)
    },

    /** An absent one stays as it is, null clears. No child outlives its parent. */
    async edit(
      project_id: string,
      id: string,
      { name, expires_at, clamp_output: clamp, max_parallel_requests: parallel, ...lists }: Edit,
    ): Promise<ApiKey | undefined> {
      const { allowed_models: models, allowed_cidrs: cidrs, allowed_clusters: clusters } = lists
      return db.transaction(async (tx) => {
        // The project's row first: so are those taken that settle what children have spent.
        if (expires_at) await tx.rows(sql`UPDATE project SET held_micros = held_micros WHERE id = ${project_id}`)
        await tx.rows(sql`
          UPDATE api_key SET
            name = CASE WHEN ${given(name)} = 1 THEN ${name ?? null} ELSE name END,
            expires_at = CASE WHEN ${given(expires_at)} = 1 THEN ${expires_at ?? null} ELSE expires_at END,
            clamp_output = CASE WHEN ${given(clamp)} = 1 THEN ${clamp ? 1 : null} ELSE clamp_output END,
            max_parallel_requests =
              CASE WHEN ${given(parallel)} = 1 THEN ${parallel ?? null} ELSE max_parallel_requests END,
            allowed_models = CASE WHEN ${given(models)} = 1 THEN ${json(models)} ELSE allowed_models END,
            allowed_cidrs = CASE WHEN ${given(cidrs)} = 1 THEN ${json(cidrs)} ELSE allowed_cidrs END,
            allowed_clusters = CASE WHEN ${given(clusters)} = 1 THEN ${json(clusters)} ELSE allowed_clusters END
          WHERE project_id = ${project_id} AND id = ${id}`)
        if (expires_at)
          await tx.rows(sql`
            UPDATE api_key SET expires_at = ${expires_at}
            WHERE project_id = ${project_id} AND parent_id = ${id} AND expires_at > ${expires_at}`)
        return keyStore(tx).find(project_id, id)
      })
    },

    /** R61: at most two secrets work at a time, so the one before the last ends here. False where the key has ended. */
    async rotate(project_id: string, id: string, secret: NewSecret, now: number): Promise<boolean> {
      const { hash, masked, previous_expires_at } = secret
      const overlap = previous_expires_at > now ? previous_expires_at : null
      const rotated = await db.rows(sql`
        UPDATE api_key SET previous_hash = CASE WHEN ${given(overlap ?? undefined)} = 1 THEN hash ELSE NULL END,
                           previous_expires_at = ${overlap}, hash = ${hash}, masked = ${masked}
        WHERE project_id = ${project_id} AND id = ${id} AND status = 'active'
          AND (expires_at IS NULL OR expires_at > ${now}) RETURNING id`)
      return rotated.length === 1
    },

    /** What is left of secrets whose overlap is over; true while there may be more of it. */
    async forgetPrevious(now: number): Promise<boolean> {
      const forgotten = await db.rows(sql`
        UPDATE api_key SET previous_hash = NULL, previous_expires_at = NULL
        WHERE previous_hash IS NOT NULL AND previous_expires_at <= ${now} AND id IN (
          SELECT id FROM api_key WHERE previous_hash IS NOT NULL AND previous_expires_at <= ${now}
          ORDER BY previous_expires_at LIMIT ${FORGOTTEN_AT_ONCE})
        RETURNING id`)
      return forgotten.length === FORGOTTEN_AT_ONCE
    },

    /** One read for a key's present secret; a second one only where that finds nothing (R61). */
    async findHolder(hash: string, now: number): Promise<Caller | undefined> {
      const [present] = await db.rows<HolderRow>({ text: BY_HASH, values: [hash, now] })
      if (present) return holderOf(present, 'hash')
      const [previous] = await db.rows<HolderRow>({ text: BY_PREVIOUS, values: [hash, now, now] })
      return previous && holderOf(previous, 'previous_hash')
    },

    /** Of a key that nobody has the secret of: this service calls with it. */
    findHolderById: async (project_id: string, id: string, now: number): Promise<Caller | undefined> =>
      (await db.rows<HolderRow>({ text: BY_ID, values: [id, project_id, now] })).map((row) => holderOf(row, 'hash'))[0],

    /** The few keys whose form the operator chose; everything else must carry our checksum (R5). */
    async operatorHashes(): Promise<Set<string>> {
      const rows = await db.rows<{ hash: string; previous_hash: string | null }>(sql`
        SELECT hash, previous_hash FROM api_key WHERE origin = 'operator' AND hash IS NOT NULL`)
      return new Set(rows.flatMap(({ hash, previous_hash }) => (previous_hash ? [hash, previous_hash] : [hash])))
    },

    /** Never moves a time back: replicas write in any order. Rows are taken in the order of their ids. */
    async recordUses(uses: readonly { key_id: string; at: string }[]): Promise<void> {
      await db.transaction(async (tx) => {
        for (const { key_id, at } of [...uses].sort((a, b) => (a.key_id < b.key_id ? -1 : 1)))
          await tx.rows(sql`
            UPDATE api_key SET last_used_at = ${at}
            WHERE id = ${key_id} AND (last_used_at IS NULL OR last_used_at < ${at})`)
      })
    },
  }
}

/** What a KeyRow has. */
const KEY = `
  id, project_id, name, masked, scopes, status, created_at, last_used_at, budget_micros, spent_micros,
  expires_at, previous_expires_at, parent_id, allowed_models, allowed_cidrs, allowed_clusters,
  window_period, window_limit_micros, window_spent_micros, window_ends_at, clamp_output, max_parallel_requests`
const keysWhere = beginning(`SELECT ${KEY} FROM api_key`)

/** Whatever a key is bound to (R60 to R64). A child has the rates of its parent. */
const HOLDER = `
  SELECT k.id AS key_id, k.project_id, k.scopes, o.verified_at, k.budget_micros, p.cap_micros, p.overage_enabled,
         p.operator_cap_micros, p.suspended_at, p.share, p.routing_epoch, p.memory_epoch, p.records_since_ms,
         k.window_limit_micros, k.parent_id, k.allowed_models, k.allowed_cidrs, k.expires_at, k.previous_expires_at,
         f.allowed_models AS parent_models, f.allowed_cidrs AS parent_cidrs, k.allowed_clusters,
         f.allowed_clusters AS parent_clusters,
         CASE WHEN f.id IS NULL THEN k.clamp_output ELSE f.clamp_output END AS clamp_output,
         CASE WHEN f.id IS NULL THEN k.requests_per_minute ELSE f.requests_per_minute END AS requests_per_minute,
         CASE WHEN f.id IS NULL THEN k.tokens_per_minute ELSE f.tokens_per_minute END AS tokens_per_minute,
         CASE WHEN f.id IS NULL THEN k.concurrent_streams ELSE f.concurrent_streams END AS concurrent_streams,
         CASE WHEN f.id IS NULL THEN k.max_parallel_requests ELSE f.max_parallel_requests END AS max_parallel_requests,
         CASE WHEN f.id IS NULL THEN k.model_rates ELSE f.model_rates END AS model_rates,
         CASE WHEN EXISTS (SELECT 1 FROM tag_budget b WHERE b.project_id = k.project_id)
              THEN 1 ELSE 0 END AS tag_budgets
  FROM api_key k JOIN project p ON p.id = k.project_id JOIN person o ON o.id = p.owner_id
       LEFT JOIN api_key f ON f.id = k.parent_id
  WHERE `
const AND_LIVES = [' AND (k.expires_at IS NULL OR k.expires_at > ', ") AND k.status = 'active'"]
const BY_HASH = [`${HOLDER}k.hash = `, ...AND_LIVES]
const BY_ID = [`${HOLDER}k.id = `, ' AND k.project_id = ', ...AND_LIVES]
const BY_PREVIOUS = [`${HOLDER}k.previous_hash = `, ' AND k.previous_expires_at > ', ...AND_LIVES]

/** Undefined where the store cannot tell of changes. */
export const watchHolders = ({ watch }: OpenDb) =>
  watch && ((changed: () => void) => watch(HOLDER_COLUMNS, changed, ['tag_budget']))

/** What a caller is made of, read off the statements, so that no column can be forgotten. */
export const HOLDER_COLUMNS = columnsIn([...BY_HASH, ...BY_PREVIOUS].join(''))

function columnsIn(text: string): Columns {
  const tables = { k: 'api_key', f: 'api_key', p: 'project', o: 'person', b: 'tag_budget' }
  const columns: Record<string, string[]> = { api_key: [], project: [], person: [], tag_budget: [] }
  for (const [, alias, name] of text.matchAll(/\b([kfpob])\.(\w+)/g)) {
    const names = columns[tables[alias as keyof typeof tables]]
    if (!names?.includes(name as string)) names?.push(name as string)
  }
  return columns
}

const listed = ({ sequence: _sequence, ...row }: KeyRow & KeyPlace) => keyOf(row)

const given = (value: unknown) => (value === undefined ? 0 : 1)

const json = (list: readonly string[] | null | undefined) => (list ? JSON.stringify(list) : null)

/** At most two. The condition on scopes is that of the index, word for word. */
const otherAdmins = (project_id: string, id: string, now: number) => sql`
  SELECT id FROM (
    SELECT id FROM api_key
    WHERE project_id = ${project_id} AND status = 'active' AND (' ' || scopes || ' ') LIKE '% admin %'
      AND expires_at IS NULL AND id <> ${id} LIMIT 1) AS lasting
  UNION ALL SELECT id FROM (
    SELECT id FROM api_key
    WHERE project_id = ${project_id} AND status = 'active' AND (' ' || scopes || ' ') LIKE '% admin %'
      AND expires_at > ${now} AND id <> ${id} LIMIT 1) AS ending`

/** R70: how many of a project's keys work. */
export const keysPresent = (project_id: string, now: number) => sql`
  SELECT
    (SELECT COUNT(*) FROM api_key WHERE project_id = ${project_id} AND status = 'active' AND expires_at IS NULL) +
    (SELECT COUNT(*) FROM api_key WHERE project_id = ${project_id} AND status = 'active' AND expires_at > ${now})
    AS present`
