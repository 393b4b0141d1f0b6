// The facts that attention is drawn to, in a few bounded reads of one project's rows.
import { capsThatBind } from '../budgets/budget.ts'
import { nextTurn } from '../core/turns.ts'
import { LARGE_BATCH_ROWS, newestFirst, type Place } from '../storage/batches.ts'
import { aside, type Db, sql } from '../storage/db.ts'
import { type AttentionFacts, type ClusterState, NEAR_PCT, type SubscriptionState } from './attention.ts'

const KEYS_MAX = 100 // the nearest to their limit, by its share
const LEFT_PCT = 100 - NEAR_PCT
const ROWS_MAX = 1_000
const FAILING = 3 // attempts in a row

interface ProjectRow {
  name: string
  verified_at: string | null
  cap_micros: number | null
  operator_cap_micros: number | null
  used_micros: number
  spent_micros: number
  overage_enabled: number
}
interface ClusterRow {
  id: string
  name: string
  status: ClusterState['status']
  created_at: string
  last_heartbeat_at: string | null
  autoscaling: string
  telemetry: string | null
}
type SubscriptionRow = Omit<SubscriptionState, 'period_end_ms' | 'overage_enabled'> & {
  period_end: string
  overage_enabled: number
}

export function attentionStore(db: Db) {
  const projectOf = async (project_id: string): Promise<AttentionFacts['project'] | undefined> => {
    const [row] = await db.rows<ProjectRow>(sql`
      SELECT p.name, o.verified_at, p.cap_micros, p.spent_micros + p.held_micros AS used_micros,
             p.spent_micros, p.overage_enabled, p.operator_cap_micros
      FROM project p JOIN person o ON o.id = p.owner_id WHERE p.id = ${project_id}`)
    if (!row) return undefined
    const { name, used_micros, spent_micros } = row
    const caps = capsThatBind(row).map((cap) => ({ id: project_id, name, used_micros, spent_micros, ...cap }))
    return { id: project_id, name, owner_verified: row.verified_at !== null, caps }
  }

  /**
   * Aside: it looks at every key that the project has. Of those that work, but children: they are made for one run, and
   * what they take is in their parent's. The limit less what may be left of it loses no digit, however small or large.
   */
  const keysOf = (project_id: string, now: number) =>
    db.rows<AttentionFacts['keys'][number]>(
      aside(sql`
        SELECT id, name, budget_micros AS limit_micros, spent_micros + held_micros AS used_micros FROM api_key
        WHERE project_id = ${project_id} AND parent_id IS NULL AND status = 'active' AND budget_micros > 0
          AND (expires_at IS NULL OR expires_at > ${now})
          AND spent_micros + held_micros >=
            budget_micros - budget_micros / 100 * ${LEFT_PCT} - budget_micros % 100 * ${LEFT_PCT} / 100
        ORDER BY 1.0 * (spent_micros + held_micros) / budget_micros DESC, id LIMIT ${KEYS_MAX}`),
    )

  /** Each may have told tens of kilobytes of itself: others have turns in between (R77). */
  async function clustersOf(project_id: string): Promise<ClusterState[]> {
    const below = ({ sequence, id }: Place) =>
      db.rows<ClusterRow & Place>(sql`
        SELECT id, name, status, created_at, last_heartbeat_at, autoscaling, telemetry, sequence FROM byoc_cluster
        WHERE project_id = ${project_id} AND (sequence, id) < (${sequence}, ${id})
        ORDER BY sequence DESC, id DESC LIMIT ${LARGE_BATCH_ROWS}`)
    const clusters: ClusterState[] = []
    for await (const rows of newestFirst(below, LARGE_BATCH_ROWS)) {
      clusters.push(...rows.map(clusterFrom))
      if (clusters.length >= ROWS_MAX) break
      if (rows.length === LARGE_BATCH_ROWS) await nextTurn()
    }
    return clusters
  }

  const credentialsOf = (project_id: string) =>
    db.rows<AttentionFacts['credentials'][number]>(sql`
      SELECT id, name, provider, status FROM provider_credential
      WHERE project_id = ${project_id} AND status <> 'revoked' ORDER BY sequence DESC LIMIT ${ROWS_MAX}`)

  const subscriptionsOf = (project_id: string) =>
    db.rows<SubscriptionRow>(sql`
      SELECT id, plan, provider, status, allowance_tokens, used_tokens, period_end, overage_enabled FROM subscription
      WHERE project_id = ${project_id} AND status <> 'canceled' ORDER BY sequence DESC LIMIT ${ROWS_MAX}`)

  const channelsOf = (project_id: string) =>
    db.rows<AttentionFacts['channels'][number]>(sql`
      SELECT id, name, status, failures FROM notification_channel
      WHERE project_id = ${project_id} AND (status = 'disabled' OR (status = 'active' AND failures >= ${FAILING}))
      ORDER BY sequence DESC LIMIT ${ROWS_MAX}`)

  const setAsideOf = async (project_id: string) => {
    const [row] = await db.rows<AttentionFacts['set_aside']>(sql`
      SELECT COUNT(*) AS events, CAST(COALESCE(SUM(charged_micros), 0) AS BIGINT) AS charged_micros
      FROM (SELECT charged_micros FROM usage_quarantine WHERE project_id = ${project_id} LIMIT ${ROWS_MAX}) AS counted`)
    return row ?? { events: 0, charged_micros: 0 }
  }

  return {
    /** Undefined where there is no such project. */
    async factsOf(
      project_id: string,
      now: number,
    ): Promise<Omit<AttentionFacts, 'left_alone' | 'departures'> | undefined> {
      const project = await projectOf(project_id)
      if (!project) return undefined
      return {
        project,
        keys: await keysOf(project_id, now),
        clusters: await clustersOf(project_id),
        credentials: await credentialsOf(project_id),
        channels: await channelsOf(project_id),
        set_aside: await setAsideOf(project_id),
        subscriptions: (await subscriptionsOf(project_id)).map(subscriptionFrom),
      }
    },
  }
}

function clusterFrom(read: ClusterRow): ClusterState {
  const { id, name, status, created_at, last_heartbeat_at, autoscaling, telemetry } = read
  return {
    ...{ id, name, status },
    created_ms: Date.parse(created_at),
    last_heartbeat_ms: last_heartbeat_at === null ? undefined : Date.parse(last_heartbeat_at),
    autoscaling: JSON.parse(autoscaling),
    telemetry: telemetry === null ? undefined : JSON.parse(telemetry),
  }
}

function subscriptionFrom({ period_end, overage_enabled, ...row }: SubscriptionRow): SubscriptionState {
  return { ...row, period_end_ms: Date.parse(period_end), overage_enabled: overage_enabled === 1 }
}
