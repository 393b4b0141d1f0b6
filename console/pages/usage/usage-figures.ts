// The numbers of the page of usage, loaded and kept current: steps, groups, and the largest groups step by step.
import { useCallback, useMemo } from 'react'
import { between, type Span, type UsageStep, usageTimeline } from '../../api/timeline-calls.ts'
import { type UsageGroup, type UsageOutcome, usageGroups, usageOutcomes } from '../../api/usage-calls.ts'
import { spanBefore } from '../../parts/periods.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { type Resource, useResource } from '../../state/resource.ts'
import { type Grouping, groupedBy, hasOutcomes, nameOf, spanIn, type UsageFrame, withWholeTag } from './usage-view.ts'

const POLL_MS = 15_000
/** Thousands of keys are told by their dearest; each of those is compared, however cheap it was before. */
export const GROUPS_SHOWN = 1_000
const GROUPS_COMPARED = 10_000

/** `before`: of the period before, where it is compared. */
export interface Compared<T> {
  now: T[]
  before: T[] | undefined
}

export function useSteps(frame: UsageFrame): Resource<Compared<UsageStep>> {
  return useResource(
    useCallback(
      async (signal: AbortSignal) => {
        const span = spanIn(frame, nowMs())
        const [now, before] = await Promise.all([
          usageTimeline(span, frame.filters, signal),
          frame.compare ? usageTimeline(spanBefore(span), frame.filters, signal) : undefined,
        ])
        return { now: now.data, before: before?.data }
      },
      [frame],
    ),
    { poll_ms: POLL_MS },
  )
}

/** Of thousands of keys they take a while, in which an embedded store reads nothing else aside: the steps go first. */
export function useGroups(frame: UsageFrame, steps: Resource<unknown>): Resource<Compared<UsageGroup>> {
  const must_wait = frame.by === 'key_id' && steps.state.kind === 'loading'
  return useResource(
    useCallback(
      async (signal: AbortSignal) => {
        if (must_wait) return new Promise<never>(() => {})
        const span = spanIn(frame, nowMs())
        const groups = async (of: Span, limit: number) => {
          const asked = { ...frame.filters, ...between(of), group_by: groupedBy(frame), limit: String(limit) }
          return (await usageGroups(asked, signal)).map((group) => withWholeTag(group, frame))
        }
        const [now, before] = await Promise.all([
          groups(span, GROUPS_SHOWN),
          frame.compare ? groups(spanBefore(span), GROUPS_COMPARED) : undefined,
        ])
        return { now, before }
      },
      [frame, must_wait],
    ),
    { poll_ms: POLL_MS },
  )
}

const OUTCOMES_ASKED = 100 // as many as one question may name

export type Outcomes = ReadonlyMap<string, UsageOutcome>

/** How the dearest groups ended and how long they took, and those that failed most, the worst first. */
export function useOutcomes(frame: UsageFrame, groups: Resource<Compared<UsageGroup>>): Outcomes | undefined {
  const known = groups.state.kind === 'ready' && !groups.state.old ? groups.state.value.now : undefined
  const names = known
    ?.slice(0, OUTCOMES_ASKED)
    .map((group) => nameOf(group, frame.by) ?? '')
    .join('\n')
  const { state } = useResource(
    useCallback(
      async (signal: AbortSignal) => {
        if (names === undefined || !hasOutcomes(frame.by)) return []
        const asked = { ...frame.filters, ...between(spanIn(frame, nowMs())), group_by: frame.by }
        return usageOutcomes(asked, names.split('\n'), signal)
      },
      [frame, names],
    ),
    { keep: true },
  )
  return useMemo(
    () => (state.kind === 'ready' && !state.old ? new Map(state.value.map((one) => [one.name, one])) : undefined),
    [state],
  )
}

export interface NamedSteps {
  name: string
  steps: UsageStep[]
}

/** The steps of each of a few groups. `names`: joined by line breaks, so that the same names ask only once. */
export function useStepsOf(frame: UsageFrame, names: string): Resource<NamedSteps[]> {
  return useResource(
    useCallback(
      async (signal: AbortSignal) => {
        const span = spanIn(frame, nowMs())
        return Promise.all(
          names
            .split('\n')
            .filter((name) => name !== '')
            .map(async (name) => ({
              name,
              steps: (await usageTimeline(span, { ...frame.filters, [frame.by]: name }, signal)).data,
            })),
        )
      },
      [frame, names],
    ),
    { poll_ms: POLL_MS },
  )
}

/** The largest few, by name. What ran on no cluster has none, and is among the rest. */
export function largest(groups: readonly UsageGroup[], by: Grouping, size: (group: UsageGroup) => number): string[] {
  return groups
    .filter((group) => nameOf(group, by) !== null && size(group) > 0)
    .toSorted((a, b) => size(b) - size(a))
    .slice(0, 5)
    .map((group) => nameOf(group, by) ?? '')
}

/** Those that failed most. */
export const failedMost = (outcomes: Outcomes): string[] =>
  [...outcomes.values()]
    .filter(({ name, failed }) => name !== '' && failed > 0)
    .slice(0, 5)
    .map(({ name }) => name)
