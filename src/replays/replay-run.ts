// What a replay run is: recorded calls that are asked again, elsewhere or otherwise, for no more than was set aside for
// it. Making one is always a plan, which calls nobody.
import { type Static, Type } from 'typebox'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { USD_MAX } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import { orNull, time } from '../core/shapes.ts'
import { usdMicros } from '../core/spending-limit.ts'
import { ReplaySource } from './replay-source.ts'
import { checkOverrides, checkTarget, Overrides, ReplayTarget, type TestedRelease } from './replay-target.ts'

export const RUN_STATUSES = ['planned', 'queued', 'running', 'paused', 'completed', 'failed', 'cancelled'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

export const CONCURRENCY_MAX = 8
const CONCURRENCY_USUAL = 4
const KEPT_MS = 30 * DAY_MS
const AT_ONCE_MAX = 16 // calls of all runs together, in one process
const AT_ONCE_KEPT = 2 // of them, for projects that have none under way

/** R78: how many calls a run may begin. `busy` are its project's that are under way, `in_all` those of all runs. */
export function mayBegin(at_once: number, busy: number, in_all: number): number {
  const free = Math.max(0, AT_ONCE_MAX - in_all)
  return Math.min(at_once - busy, Math.max(free - AT_ONCE_KEPT, busy === 0 ? Math.min(1, free) : 0))
}
/** What was set aside for a run goes back after this, whatever has become of the run. */
export const RUN_TTL_MS = 7 * DAY_MS

export const NewReplayRun = Type.Object(
  {
    source: ReplaySource,
    target: ReplayTarget,
    overrides: Type.Optional(Overrides),
    control: Type.Optional(
      Type.Boolean({ description: 'Ask each call a second time as it was recorded. Default `false`.' }),
    ),
  },
  { title: 'NewReplayRun' },
)
export type NewReplayRun = Static<typeof NewReplayRun>

export const Execution = Type.Object(
  {
    max_cost_usd: Type.Number({
      minimum: 0,
      maximum: USD_MAX,
      description: 'Set aside of the project at once, and the most that all calls together cost. The rest goes back.',
    }),
    concurrency: Type.Optional(
      Type.Integer({ minimum: 1, maximum: CONCURRENCY_MAX, description: `Default ${CONCURRENCY_USUAL}.` }),
    ),
  },
  { title: 'ReplayExecution' },
)
export type Execution = Static<typeof Execution>

const count = () => Type.Integer({ minimum: 0 })

export const ItemCounts = Type.Object({
  total: count(),
  pending: count(),
  running: count(),
  done: count(),
  skipped: count(),
  failed: count(),
})
export type ItemCounts = Static<typeof ItemCounts>

export const ReplayRun = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `rpl_`.' }),
    object: Type.Literal('replay_run'),
    project_id: Type.String(),
    status: Type.Enum([...RUN_STATUSES]),
    source: ReplaySource,
    target: ReplayTarget,
    overrides: orNull(Overrides),
    control: Type.Boolean(),
    matched: Type.Integer({ description: 'How many calls the source matched, before a sample was drawn.' }),
    items: ItemCounts,
    plan: Type.Object({
      low_micros: Type.Integer({ description: 'With the tokens that were recorded.' }),
      high_micros: Type.Integer({ description: 'All that would be held: no run of this plan costs more.' }),
      expected_cached_tokens: Type.Integer(),
    }),
    key_id: orNull(Type.String({ description: 'The key that its calls are made with. It has no secret.' })),
    max_cost_micros: orNull(Type.Integer()),
    spent_micros: Type.Integer(),
    returned_micros: orNull(Type.Integer({ description: 'What went back when the run ended; null until then.' })),
    concurrency: orNull(Type.Integer()),
    error: orNull(Type.String({ description: 'Why it failed.' })),
    created_at: time(),
    executed_at: orNull(time()),
    finished_at: orNull(time()),
    expires_at: time(),
  },
  { title: 'ReplayRun' },
)
export type ReplayRun = Static<typeof ReplayRun>

/** As it is stored, without what is counted. */
export interface StoredRun {
  id: string
  project_id: string
  status: RunStatus
  source: ReplaySource
  target: ReplayTarget
  overrides: Overrides | null
  control: boolean
  release: TestedRelease | null
  matched: number
  key_id: string | null
  max_cost_micros: number | null
  concurrency: number | null
  error: string | null
  created_at: string
  executed_at: string | null
  finished_at: string | null
  expires_ms: number
}

interface About {
  project_id: string
  release: TestedRelease | null
  matched: number
}

export function newReplayRun(asked: CheckedRun, { project_id, release, matched }: About, now: number): StoredRun {
  return {
    id: newId('rpl'),
    project_id,
    status: 'planned',
    source: asked.source,
    target: asked.target,
    overrides: asked.overrides,
    control: asked.control,
    release,
    matched,
    key_id: null,
    max_cost_micros: null,
    concurrency: null,
    error: null,
    created_at: rfc3339(now),
    executed_at: null,
    finished_at: null,
    expires_ms: now + KEPT_MS,
  }
}

export interface CheckedRun {
  source: ReplaySource
  target: ReplayTarget
  overrides: Overrides | null
  control: boolean
}

export const checkedRun = ({ source, target, overrides, control = false }: NewReplayRun): CheckedRun => ({
  source,
  target: checkTarget(target),
  overrides: overrides ? checkOverrides(overrides) : null,
  control,
})

export const executionOf = ({ max_cost_usd, concurrency = CONCURRENCY_USUAL }: Execution) => ({
  max_cost_micros: usdMicros('max_cost_usd', max_cost_usd),
  concurrency,
})

/** From which statuses each step leads on. */
export const STEPS = {
  execute: { from: ['planned'], to: 'queued' },
  pause: { from: ['queued', 'running'], to: 'paused' },
  resume: { from: ['paused'], to: 'queued' },
  cancel: { from: ['planned', 'queued', 'running', 'paused'], to: 'cancelled' },
} as const satisfies Record<string, { from: readonly RunStatus[]; to: RunStatus }>
export type Step = keyof typeof STEPS

export const hasStatus = ({ id, status }: Pick<StoredRun, 'id' | 'status'>, step: Step) =>
  new Refusal('invalid_request', `The replay run '${id}' is ${status}; it must be ${STEPS[step].from.join(' or ')}.`)

export const nothingToRun = (id: string) =>
  new Refusal(
    'invalid_request',
    `The replay run '${id}' has no item that can be asked; see '/v2/replay-runs/${id}/items'.`,
  )

export const otherUnderWay = (id: string | undefined) =>
  new Refusal('invalid_request', `The replay run '${id}' of this project is under way. Wait for it or cancel it.`)

export const KEY_ENDED =
  'The key of this run was revoked or has expired, or the one that it was executed with was. What it did not spend ' +
  'went back.'
