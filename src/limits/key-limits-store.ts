// The limits of keys at rest. Every request reads them together with its key, so a change holds for the next one.
import type { OwnLimits } from '../core/caller.ts'
import { type Db, sql } from '../storage/db.ts'
import type { NewKeyLimits } from './key-limits.ts'
import { type KeyModelRates, ratesIn } from './model-rates.ts'

export type KeyLimitsStore = ReturnType<typeof keyLimitsStore>

export function keyLimitsStore(db: Db) {
  return {
    /** R64: a child has those of its parent. */
    async find(project_id: string, key_id: string): Promise<OwnLimits | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT requests_per_minute, tokens_per_minute, concurrent_streams, max_parallel_requests, model_rates
        FROM api_key WHERE project_id = ${project_id}
          AND id = COALESCE((SELECT c.parent_id FROM api_key c WHERE c.id = ${key_id}), ${key_id})`)
      return row && limitsIn(row)
    },

    /** An absent one stays as it is, null clears. */
    async set(project_id: string, key_id: string, limits: NewKeyLimits): Promise<OwnLimits | undefined> {
      const { requests_per_minute: requests, tokens_per_minute: tokens, concurrent_streams: streams } = limits
      const { max_parallel_requests: parallel, models } = limits
      const [row] = await db.rows<Row>(sql`
        UPDATE api_key SET
          requests_per_minute = CASE WHEN ${given(requests)} = 1 THEN ${requests ?? null} ELSE requests_per_minute END,
          tokens_per_minute = CASE WHEN ${given(tokens)} = 1 THEN ${tokens ?? null} ELSE tokens_per_minute END,
          concurrent_streams = CASE WHEN ${given(streams)} = 1 THEN ${streams ?? null} ELSE concurrent_streams END,
          max_parallel_requests =
            CASE WHEN ${given(parallel)} = 1 THEN ${parallel ?? null} ELSE max_parallel_requests END,
          model_rates = CASE WHEN ${given(models)} = 1 THEN ${json(models)} ELSE model_rates END
        WHERE project_id = ${project_id} AND id = ${key_id} AND parent_id IS NULL
        RETURNING requests_per_minute, tokens_per_minute, concurrent_streams, max_parallel_requests, model_rates`)
      return row && limitsIn(row)
    },
  }
}

type Row = Omit<OwnLimits, 'models'> & { model_rates: string | null }

const limitsIn = ({ model_rates, ...rest }: Row): OwnLimits => ({ ...rest, models: ratesIn(model_rates) })

const json = (rates: KeyModelRates | null | undefined) => (rates ? JSON.stringify(rates) : null)

const given = (limit: unknown) => (limit === undefined ? 0 : 1)
