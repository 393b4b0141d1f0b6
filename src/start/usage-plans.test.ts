// §8.2: however many events there are, nothing that asks or tidies reads all of them. The embedded engine plans by its
// indexes alone, so what it says of an empty table it does with ten million rows.
import { expect, onTestFinished, test } from 'vitest'
import { heldClock, NOON } from '../../test/support/clock.ts'
import { ENGINE, freshDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { type Db, type OpenDb, type Sql, sql } from '../storage/db.ts'
import { usageQuestion } from '../usage/usage-query.ts'
import { usageRollups } from '../usage/usage-rollup-store.ts'
import { usageStore } from '../usage/usage-store.ts'
import { timelineQuestion } from '../usage/usage-timeline.ts'
import { usageTimeline } from '../usage/usage-timeline-store.ts'
import { usageTasks } from './usage-tasks.ts'

/** Runs everything as it is, and notes how each statement that names events or roll-ups will find its rows. */
function watching(db: OpenDb) {
  const scans: string[] = []
  const plans: string[] = []
  let watched = 0
  async function look(on: Db, { text, values }: Sql): Promise<void> {
    if (!/usage_(event|rollup|waiting)/.test(text.join('?')) || /^\s*INSERT/.test(text[0] ?? '')) return
    watched++
    const plan = { text: [`EXPLAIN QUERY PLAN ${text[0]}`, ...text.slice(1)], values, once: true } as const
    for (const { detail } of await on.rows<{ detail: string }>(plan)) {
      plans.push(detail)
      if (/^SCAN (e|r|usage_event|usage_rollup)\b/.test(detail)) scans.push(`${detail}: ${text.join('?')}`)
    }
  }
  const over = <Under extends Db>(under: Under): Under => ({
    ...under,
    async rows<Row>(statement: Sql) {
      await look(under, statement)
      return under.rows<Row>(statement)
    },
    transaction: <T>(work: Parameters<Db['transaction']>[0]) => under.transaction((tx) => work(over(tx))) as Promise<T>,
  })
  return { db: over(db), scans, plans, watched: () => watched }
}

async function watched(work: (db: OpenDb, project_id: string, key_id: string) => Promise<unknown>) {
  const fresh = await freshDb('sqlite')
  try {
    const project_id = await projectIn(fresh.db)
    const { api_key } = await keyStore(fresh.db).insert(createKey(project_id, { name: 'k' }, NOON), NOON)
    for (let n = 0; n < 3; n++) {
      const event = usageEvent(project_id, { key_id: api_key.id, created_at: rfc3339(NOON - n * DAY_MS) })
      await usageStore(fresh.db).insert({ ...event, session_id: 'ses_1' })
    }
    const watch = watching(fresh.db)
    await work(watch.db, project_id, api_key.id)
    return { scans: watch.scans, plans: watch.plans, looked_at: watch.watched() }
  } finally {
    await fresh.drop()
  }
}

/** By either index: both begin with the key, one of them within its project. */
const ONE_KEY = /usage_rollup_(by_key \(key_id=\? AND cube=\?|sums_by_key \(project_id=\? AND key_id=\?) AND start_ms>/

const range = { from: rfc3339(NOON - 30 * DAY_MS - 7), to: rfc3339(NOON) }

test('§8.2.3 lists, pages, traces, groups and timelines find their events by an index', async () => {
  const { scans, looked_at } = await watched(async (db, project_id, key_id) => {
    const store = usageStore(db)
    const [event] = (await store.list(project_id, usageQuestion({ limit: '1' }))).data
    const after = await store.place(project_id, event?.trace_id ?? '')
    const filters = [{}, { key_id }, { model: 'm' }, { session_id: 'ses_1' }, { key_id, ...range }, { ...range }]
    for (const filter of filters) {
      await store.list(project_id, usageQuestion(filter))
      await store.list(project_id, usageQuestion(filter), { after })
      await store.list(project_id, usageQuestion(filter), { before: after })
      for (const group_by of ['day', 'day,model', 'key_id,model', 'provider,cluster_id'])
        await store.grouped(project_id, usageQuestion({ ...filter, group_by }))
      for (const step of ['hour', 'day'])
        await usageTimeline(db).steps(project_id, timelineQuestion({ ...filter, ...range, step }))
    }
    await store.findTraced(project_id, event?.trace_id ?? '')
  })
  expect(scans).toEqual([])
  expect(looked_at).toBeGreaterThan(50)
})

test('§8.2.3 sums of every key over months are read out of an index alone, in the order of keys', async () => {
  const { plans } = await watched((db, project_id) =>
    usageStore(db).grouped(project_id, usageQuestion({ ...range, group_by: 'key_id' })),
  )
  const of_days = plans.filter((plan) => plan.includes('usage_rollup_sums_by_key'))
  expect(of_days).toEqual([expect.stringContaining('USING COVERING INDEX usage_rollup_sums_by_key (project_id=?)')])
})

test('§8.2.3 of a page of keys, the dearest are found so, and each of them is then read by itself', async () => {
  const { plans } = await watched(async (db, project_id) => {
    for (const key_id of ['key_2', 'key_3'])
      await usageStore(db).insert(usageEvent(project_id, { key_id, created_at: rfc3339(NOON - DAY_MS) }))
    await usageStore(db).grouped(project_id, usageQuestion({ ...range, group_by: 'key_id', limit: '1' }))
  })
  const of_days = plans.filter((plan) => plan.includes('usage_rollup_sums_by_key'))
  expect(of_days).toEqual([
    expect.stringContaining('USING COVERING INDEX usage_rollup_sums_by_key (project_id=?)'),
    expect.stringContaining('USING COVERING INDEX usage_rollup_sums_by_key (project_id=? AND key_id=?'),
  ])
})

test('§8.2 rolling up, letting go and a limit by the month find their rows by an index', async () => {
  const { scans, looked_at } = await watched(async (db, project_id, key_id) => {
    for (const { run } of usageTasks({ db, clock: heldClock(), retention_days: 1 })) await run()
    await usageRollups(db).waiting()
    await keyStore(db).setWindow(project_id, key_id, { period: 'month', limit_micros: 1 }, NOON)
  })
  expect(scans).toEqual([])
  expect(looked_at).toBeGreaterThan(3)
})

test('§8.2 planted: a question that no index serves is told', async () => {
  const { scans } = await watched((db) => db.rows(sql`SELECT COUNT(*) FROM usage_event e WHERE e.status = 'completed'`))
  expect(scans).toHaveLength(1)
})

test('§8.2.3 planted: without the index by key, a page of one key would be looked for among all events', async () => {
  const { scans } = await watched(async (db, project_id, key_id) => {
    await db.rows(sql`DROP INDEX usage_event_by_key`)
    await usageStore(db).list(project_id, usageQuestion({ key_id }))
  })
  expect(scans).toHaveLength(1)
})

test('§8.2.3 the sums of one key are found by it, and not among those of all keys', async () => {
  const { plans } = await watched((db, project_id, key_id) =>
    usageStore(db).grouped(project_id, usageQuestion({ key_id, ...range, group_by: 'day' })),
  )
  const rollups = plans.filter((detail) => detail.includes('usage_rollup'))
  expect(rollups).toHaveLength(3)
  for (const detail of rollups) expect(detail).toMatch(ONE_KEY)
})

test.runIf(ENGINE === 'postgres')(
  '§8.2.3 PostgreSQL sees a project where the other engine must not: it expects a page, and no handful to be sorted',
  async () => {
    const { db, drop } = await freshDb()
    onTestFinished(drop)
    let listed: Sql | undefined
    const listening: Db = {
      async rows(statement) {
        listed = statement
        return []
      },
      transaction: () => Promise.reject(new Error('a list is one statement')),
    }
    await usageStore(listening).list('prj_1', usageQuestion({ key_id: 'key_1' }))
    const plan = async ({ text, values }: Sql) =>
      JSON.stringify(await db.rows({ text: [`EXPLAIN ${text[0]}`, ...text.slice(1)], values, once: true }))
    if (!listed) throw new Error('nothing was asked')
    expect(await plan(listed)).toMatch(/[( ]project_id = 'prj_1'/)
    const hidden = listed.text.map((part) => part.replace('CASE WHEN TRUE THEN e.project_id END', "e.project_id || ''"))
    expect(await plan({ ...listed, text: hidden })).not.toMatch(/[( ]project_id = 'prj_1'/)
  },
)

test.runIf(ENGINE === 'postgres')(
  '§8.2 PostgreSQL looks each waiting event up by its id, however many it thinks there are',
  async () => {
    const { db, drop } = await freshDb()
    onTestFinished(drop)
    const project_id = await projectIn(db)
    await db.transaction(async (tx) => {
      for (let n = 0; n < 400; n++) await usageStore(tx).insert(usageEvent(project_id))
    })
    for (const table of ['usage_event', 'usage_unrolled']) await db.rows({ text: [`ANALYZE ${table}`], values: [] })
    const planOf = async (from: string) =>
      JSON.stringify(
        await db.rows({ text: [`EXPLAIN SELECT SUM(e.charged_micros) FROM ${from}`], values: [], once: true }),
      )
    for (const view of ['usage_to_roll e', `usage_to_roll e WHERE waiting_of = '${project_id}'`])
      expect(await planOf(view)).toMatch(/Nested Loop.*Index Scan using \w+_pkey/)
    expect(await planOf('usage_unrolled u CROSS JOIN usage_event e WHERE e.trace_id = u.trace_id')).toMatch(/Hash Join/)
  },
)
