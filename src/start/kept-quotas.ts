// R78: what may be kept and sent for a project, put together: answers for idempotency keys, stored responses, contents
// of sessions, mails, artifacts, recordings, outputs of replays.
import type { ArtifactQuota } from '../artifacts/kept-artifact-store.ts'
import type { BundleQuota } from '../bundles/bundle-routes.ts'
import { keptFor } from '../idempotency/idempotency-store.ts'
import { keptQuota } from '../limits/kept-quota.ts'
import { beyondQuota, type QuotaKind, type Quotas } from '../limits/quota.ts'
import { quotaStore } from '../limits/quota-store.ts'
import type { RecordingQuota } from '../recordings/kept-recording-store.ts'
import type { OutputQuota } from '../replays/replay-item-store.ts'
import type { ReplayQuota } from '../replays/replay-routes.ts'
import { storedFor } from '../responses/response-store.ts'
import { contentsFor } from '../sessions/session-store.ts'
import type { Db } from '../storage/db.ts'

export function keptQuotas(db: Db, quotas: Quotas) {
  const { own } = quotaStore(db)
  const answers = keptQuota({
    kinds: { items: 'kept_answers', mib: 'kept_answers_mib' },
    quotas,
    own,
    count: (project_id, most) => keptFor(db, project_id, most),
  })
  const responses = keptQuota({
    kinds: { items: 'responses', mib: 'responses_mib' },
    quotas,
    own,
    count: (project_id, most) => storedFor(db, project_id, most),
  })
  return {
    answers,
    /** Nobody is refused for these: what does not fit is not kept. */
    session_contents: keptQuota({
      kinds: { mib: 'session_contents_mib' },
      quotas,
      own,
      count: (project_id) => contentsFor(db, project_id),
    }),
    artifacts: artifactQuota(quotas),
    bundles: quotaOfOne(quotas, 'bundles'),
    replays: quotaOfOne(quotas, 'replay_runs'),
    replay_outputs: outputQuota(quotas),
    recordings: recordingQuota(quotas),
    async mailsPerDay(on: Db, project_id: string): Promise<number> {
      return (await quotaStore(on).own(project_id)).mails_per_day ?? quotas.mails_per_day
    },
    /** Whoever is let in is taken to store one. */
    async mayStore(project_id: string, now: number): Promise<void> {
      await responses.check(project_id, now)
      responses.addedOne(project_id)
    },
  }
}

const MIB = 2 ** 20

const taking =
  (quotas: Quotas) =>
  async (tx: Db, project_id: string, kind: QuotaKind, { amount, unit }: Share): Promise<void> => {
    const store = quotaStore(tx)
    if (await store.takeAmount(project_id, kind, { amount, max: quotas[kind], unit })) return
    throw beyondQuota(kind, (await store.own(project_id))[kind] ?? quotas[kind])
  }

const ONE = { amount: 1, unit: 1 }

const quotaOfOne = (quotas: Quotas, kind: QuotaKind): BundleQuota & ReplayQuota => ({
  take: (tx, project_id) => taking(quotas)(tx, project_id, kind, ONE),
  giveBack: (tx, project_id) => quotaStore(tx).giveBack(project_id, kind, 1),
})

function artifactQuota(quotas: Quotas): ArtifactQuota {
  const takeOf = taking(quotas)
  return {
    async take(tx, project_id, bytes) {
      await takeOf(tx, project_id, 'artifacts', ONE)
      await takeOf(tx, project_id, 'artifacts_mib', { amount: bytes, unit: MIB })
    },
    async giveBack(tx, project_id, bytes) {
      await quotaStore(tx).giveBack(project_id, 'artifacts', 1)
      await quotaStore(tx).giveBack(project_id, 'artifacts_mib', bytes)
    },
  }
}

/** Nobody is refused for these: what does not fit is not recorded. */
function recordingQuota(quotas: Quotas): RecordingQuota {
  const [ITEMS, BYTES] = ['recordings', 'recordings_mib'] as const
  return {
    async take(tx, project_id, { items, bytes }) {
      const store = quotaStore(tx)
      if (!(await store.takeAmount(project_id, ITEMS, { amount: items, max: quotas[ITEMS], unit: 1 }))) return false
      if (await store.takeAmount(project_id, BYTES, { amount: bytes, max: quotas[BYTES], unit: MIB })) return true
      await store.giveBack(project_id, ITEMS, items)
      return false
    },
    async giveBack(tx, project_id, { items, bytes }) {
      await quotaStore(tx).giveBack(project_id, ITEMS, items)
      await quotaStore(tx).giveBack(project_id, BYTES, bytes)
    },
    async lock(tx, project_id) {
      const store = quotaStore(tx)
      await store.takeAmount(project_id, ITEMS, { amount: 0, max: quotas[ITEMS], unit: 1 })
      await store.giveBack(project_id, ITEMS, 0)
    },
  }
}

/** Nor for these: what does not fit is compared and not kept. */
function outputQuota(quotas: Quotas): OutputQuota {
  const KIND = 'replay_outputs_mib'
  return {
    take: (tx, project_id, bytes) =>
      quotaStore(tx).takeAmount(project_id, KIND, { amount: bytes, max: quotas[KIND], unit: MIB }),
    giveBack: (tx, project_id, bytes) => quotaStore(tx).giveBack(project_id, KIND, bytes),
  }
}

interface Share {
  amount: number
  unit: number
}
