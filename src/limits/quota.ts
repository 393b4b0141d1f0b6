// R70: how many of a thing one project may have. Lists come whole, and what one project keeps costs everybody's disk:
// so there is a bound for each, generous, and the operator's to set.
import { type Static, Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'

export const QUOTA_MAX = 100_000_000

const Most = (fallback: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: QUOTA_MAX, default: fallback, description })

export const QuotasShape = Type.Object(
  {
    keys: Most(100_000, 'API keys that work, children included.'),
    clusters: Most(1_000, 'BYOC clusters.'),
    aliases: Most(1_000, 'Aliases.'),
    releases: Most(10_000, 'Releases of all aliases together.'),
    credentials: Most(1_000, 'Provider credentials that are not revoked.'),
    hints: Most(10_000, 'Stored hints.'),
    sessions: Most(200_000, 'Sessions, closed ones included.'),
    session_contents_mib: Most(4_096, 'Contents of sessions, in MiB. Beyond it, turns are counted without contents.'),
    invitations: Most(1_000, 'Invitations that are open.'),
    kept_answers: Most(2_000_000, 'Answers that are kept for idempotency keys, for 24 hours each.'),
    kept_answers_mib: Most(1_024, 'The same in MiB.'),
    responses: Most(2_000_000, 'Stored responses.'),
    responses_mib: Most(4_096, 'The same in MiB.'),
    artifacts: Most(10_000, 'Artifacts.'),
    artifacts_mib: Most(1_024, 'The same in MiB.'),
    bundles: Most(1_000, 'Bundles.'),
    recordings: Most(1_000_000, 'Recordings, which are kept for `retention.days`. Beyond it, calls are not recorded.'),
    recordings_mib: Most(4_096, 'The same in MiB, compressed.'),
    purge_jobs: Most(1_000, 'Purge jobs; those that have ended count for 30 days.'),
    replay_runs: Most(1_000, 'Replay runs, which are kept for 30 days.'),
    replay_outputs_mib: Most(1_024, 'What replayed calls were answered, in MiB. Beyond it, answers are not kept.'),
    notification_channels: Most(20, 'Notification channels.'),
    tag_budgets: Most(1_000, 'Budgets of tags.'),
    saved_views: Most(5_000, 'Saved views of all people and keys together.'),
    mails_per_day: Most(
      100,
      'Mails that a project sends in a day: invitations, withdrawn ones included, and notifications.',
    ),
  },
  { additionalProperties: false, default: {} },
)
export type Quotas = Static<typeof QuotasShape>
export type QuotaKind = keyof Quotas
export const QUOTA_KINDS = Object.keys(QuotasShape.properties) as QuotaKind[]

/** For a minute after a count, the count is believed: whoever stands at a bound must not make us count at every try. */
export const RECOUNT_AFTER_MS = 60_000

/** What is said of kinds whose name does not say it all: what they are, and what to do. */
const SPOKEN: Partial<Record<QuotaKind, [what: string, remedy: string]>> = {
  keys: ['keys', 'Revoke some'],
  clusters: ['clusters', 'Deregister some'],
  releases: ['releases', 'Delete an alias: its releases count no more'],
  credentials: ['credentials', 'Revoke some'],
  invitations: ['invitations', 'Withdraw some'],
  purge_jobs: ['purge jobs', 'Those that have ended count for 30 days, plans that are not carried out for 7; wait'],
  replay_runs: ['replay runs', 'They go after 30 days; wait'],
  notification_channels: ['notification channels', 'Delete some'],
  tag_budgets: ['budgets of tags', 'Delete some'],
  saved_views: ['saved views', 'Delete some'],
  kept_answers: ['kept answers', 'They go after 24 hours; send no idempotency key until then'],
  kept_answers_mib: ['MiB of kept answers', 'They go after 24 hours; send no idempotency key until then'],
  artifacts_mib: ['MiB of artifacts', 'Delete some'],
  responses: ['stored responses', 'Delete some, send `store: false`'],
  responses_mib: ['MiB of stored responses', 'Delete some, send `store: false`'],
}

export function beyondQuota(kind: QuotaKind, max: number): Refusal {
  const [what, remedy] = SPOKEN[kind] ?? [kind, 'Delete some']
  const most = max.toLocaleString('en')
  const message = `This project has as many ${what} as it may have (${most}). ${remedy}, or ask the operator for more.`
  return new Refusal('quota_exceeded', message, { headers: { 'x-should-retry': 'false' } })
}
