// §9.4: whether a replay run speaks for a release, and what it says of it. Pure.
import { Refusal } from '../core/refusal.ts'
import type { AliasTarget } from '../models/alias.ts'
import type { ReleaseEvidence } from '../models/release-evidence.ts'
import type { ReplayComparison } from './replay-comparison.ts'
import type { StoredRun } from './replay-run.ts'

/** A run that has not ended says nothing yet, and one of something else nothing of this. */
export function evidenceOf(
  run: StoredRun,
  comparison: ReplayComparison,
  targets: readonly AliasTarget[],
): ReleaseEvidence {
  if (run.status !== 'completed' || run.finished_at === null || comparison.compared === 0)
    throw wrong(`be of a completed run with answers; '${run.id}' is ${run.status} with ${comparison.compared}`)
  if (!speaksFor(run, targets)) throw wrong("be of a run whose target is among 'targets'")
  const { compared, control_compared, differences, rates, amounts } = comparison
  const cost = amounts.find(({ measure }) => measure === 'charged_micros')
  const text = rates.find(({ measure }) => measure === 'text')
  if (!cost || !text) throw new Error('a comparison without cost or text')
  return {
    replay_run_id: run.id,
    finished_at: run.finished_at,
    compared,
    control_compared,
    differences: [...differences],
    different_text: text.target,
    recorded_micros: cost.recorded,
    charged_micros: cost.target.sum,
  }
}

/** What it asked is what requests through the release may go to. */
export function speaksFor({ target, release }: StoredRun, targets: readonly AliasTarget[]): boolean {
  if (release) return JSON.stringify(release.targets.map(sortable)) === JSON.stringify(targets.map(sortable))
  return targets.some(
    ({ model, cluster_id }) =>
      (target.model === undefined || target.model === model) &&
      (target.cluster_id === undefined || target.cluster_id === cluster_id),
  )
}

const sortable = ({ provider, cluster_id, credential_id, model, weight }: AliasTarget) => [
  ...[provider ?? null, cluster_id ?? null, credential_id ?? null, model, weight],
]

const wrong = (must: string) => new Refusal('invalid_request', `'replay_run_id' must ${must}.`)
