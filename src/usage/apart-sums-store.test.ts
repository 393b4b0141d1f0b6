// What roll-ups do not know, taken out of them: bundles, tags, replays; and what a roll-up that came later does not have.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { expectedGroups, rollEverything, shownGroups } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { HOUR_MS, MINUTE_MS, rfc3339 } from '../core/clock.ts'
import { sql } from '../storage/db.ts'
import type { UsageEvent } from './usage-event.ts'
import { usageQuestion } from './usage-query.ts'
import { usageStore } from './usage-store.ts'

withDb((db) => {
  const made = (project_id: string, { minutes, ...more }: { minutes: number } & Partial<UsageEvent>) =>
    usageEvent(project_id, { ...more, created_at: rfc3339(NOON + minutes * MINUTE_MS) })

  async function wrong(project_id: string, events: readonly UsageEvent[], query: object): Promise<boolean> {
    const question = usageQuestion({ ...query, limit: '10000' })
    const { data } = await usageStore(db()).grouped(project_id, question)
    return JSON.stringify(shownGroups(data)) !== JSON.stringify(expectedGroups(events, question))
  }

  test.each(['bundle_id', 'day,bundle_id', 'tag:team', 'model,tag:team'])(
    '§8.2.3 by %s: those that have it out of events, the rest out of roll-ups, and nothing twice',
    async (group_by) => {
      const project_id = await projectIn(db())
      const having = [{ bundle_id: 'bnd_1', tags: { team: 'search' } }, { tags: { run: '1' } }, {}]
      const events = Array.from({ length: 60 }, (_, n) => made(project_id, { minutes: n * 60, ...having[n % 3] }))
      for (const event of events.slice(0, 40)) await usageStore(db()).insert(event)
      await rollEverything(db())
      for (const event of events.slice(40)) await usageStore(db()).insert(event)
      for (const query of [{}, { model: 'gpt-4o' }, { key_id: 'key_1', from: rfc3339(NOON + 90 * MINUTE_MS) }])
        expect(await wrong(project_id, events, { ...query, group_by })).toBe(false)
      await rollEverything(db())
      await db().rows(sql`
        DELETE FROM usage_event WHERE project_id = ${project_id} AND bundle_id IS NULL AND tags IS NULL`)
      expect(await wrong(project_id, events, { group_by })).toBe(false) // what has none is not looked at
    },
  )

  test.each(['model,provider', 'provider', 'day,model,cluster_id', 'bundle_id', 'tag:team', 'key_id,model'])(
    '§8.2.3 by %s, replays left out are taken off, before and after they are rolled up',
    async (group_by) => {
      const project_id = await projectIn(db())
      const replay = `key_of_${project_id}`
      await db().rows(sql`INSERT INTO replay_key (key_id, project_id) VALUES (${replay}, ${project_id})`)
      const events = Array.from({ length: 40 }, (_, n) =>
        made(project_id, {
          minutes: n * 90,
          key_id: n % 4 === 0 ? replay : 'key_1',
          provider: n % 8 === 0 ? 'only-replayed' : 'openai',
          ...(n % 3 === 0 && { bundle_id: 'bnd_1', tags: { team: 'search' } }),
        }),
      )
      const own = events.filter(({ key_id }) => key_id !== replay)
      for (const event of events.slice(0, 25)) await usageStore(db()).insert(event)
      await rollEverything(db())
      for (const event of events.slice(25)) await usageStore(db()).insert(event)
      for (const query of [{}, { provider: 'openai', from: rfc3339(NOON + 100 * MINUTE_MS) }])
        expect(await wrong(project_id, own, { ...query, group_by, replays: 'exclude' })).toBe(false)
      await rollEverything(db())
      expect(await wrong(project_id, own, { group_by, replays: 'exclude' })).toBe(false)
    },
  )

  test('R43 days of before there was a roll-up by place are told by the one by everything', async () => {
    const project_id = await projectIn(db())
    const events = Array.from({ length: 60 }, (_, n) =>
      made(project_id, { minutes: n * 90, resolved_model: `m${n % 2}`, provider: `p${n % 3}` }),
    )
    for (const event of events.slice(0, 30)) await usageStore(db()).insert(event)
    await rollEverything(db())
    await db().rows(sql`DELETE FROM usage_rollup WHERE project_id = ${project_id} AND cube = 'day:place'`)
    for (const event of events.slice(30)) await usageStore(db()).insert(event)
    await rollEverything(db())
    for (const query of [{}, { from: rfc3339(NOON + 3 * 24 * HOUR_MS) }, { model: 'm1' }])
      expect(await wrong(project_id, events, { ...query, group_by: 'model,provider' })).toBe(false)
  })

  test('R43 planted: a roll-up by place that is wrong is what is told, and the comparison says so', async () => {
    const project_id = await projectIn(db())
    const events = Array.from({ length: 30 }, (_, n) => made(project_id, { minutes: n }))
    for (const event of events) await usageStore(db()).insert(event)
    await rollEverything(db())
    await db().rows(sql`
      UPDATE usage_rollup SET charged_micros = charged_micros + 1
      WHERE project_id = ${project_id} AND cube = 'day:place'`)
    expect(await wrong(project_id, events, { group_by: 'model,provider' })).toBe(true)
  })
})
