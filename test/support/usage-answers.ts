// What GET /v2/usage must answer, worked out from the events themselves: no SQL, no roll-up.
import type { OpenDb } from '../../src/storage/db.ts'
import type { UsageEvent } from '../../src/usage/usage-event.ts'
import { type Group, matches, type UsageGroup, type UsageQuestion } from '../../src/usage/usage-query.ts'
import { AMOUNTS } from '../../src/usage/usage-rollup.ts'
import { usageRollups } from '../../src/usage/usage-rollup-store.ts'

/** Rolls everything up. The lock is the whole server's, so suites that run beside each other take turns. */
export async function rollEverything(db: OpenDb, batch?: number): Promise<void> {
  for (;;) {
    const rolled = await usageRollups(db).roll(batch)
    if (rolled === 0) return
    if (rolled === 'busy') await new Promise((turn) => setTimeout(turn, 2))
  }
}

/** One batch, whoever else is at it. */
export async function rollSome(db: OpenDb, batch: number): Promise<number> {
  for (;;) {
    const rolled = await usageRollups(db).roll(batch)
    if (rolled !== 'busy') return rolled
    await new Promise((turn) => setTimeout(turn, 2))
  }
}

const groupOf: Record<Group, (event: UsageEvent) => string | null> = {
  day: (event) => event.created_at.slice(0, 10),
  model: (event) => event.resolved_model,
  key_id: (event) => event.key_id,
  provider: (event) => event.provider,
  profile: (event) => event.profile,
  cluster_id: (event) => event.cluster_id,
  bundle_id: ({ bundle_id }) => bundle_id,
}

/** Every group as one text, in any order. */
export function expectedGroups(events: readonly UsageEvent[], question: UsageQuestion): string[] {
  const { filter, group_by, group_tag } = question
  const groups = new Map<string, Record<string, unknown>>()
  for (const event of events.filter((one) => matches(one, filter))) {
    const tag = group_tag === undefined ? {} : { tag: event.tags?.[group_tag] ?? null }
    const named = { ...Object.fromEntries(group_by.map((name) => [name, groupOf[name](event)])), ...tag }
    const group = groups.get(JSON.stringify(named)) ?? { ...named, events: 0 }
    groups.set(JSON.stringify(named), group)
    group.events = Number(group.events) + 1
    for (const name of AMOUNTS) group[name] = Number(group[name] ?? 0) + event[name]
  }
  return [...groups.values()].map((group) => canonical(group)).sort()
}

export const canonical = (group: object) => JSON.stringify(Object.entries(group).sort(([a], [b]) => (a < b ? -1 : 1)))

export const shownGroups = (groups: readonly UsageGroup[]) =>
  groups.map(({ object: _object, ...group }) => canonical(group)).sort()
