// Tags at rest: how those of an event are found, and how many different ones a project has.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { countStatements, deferred, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { insertAll } from '../../test/support/usage-windows.ts'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { type Db, type Sql, sql } from '../storage/db.ts'
import { usageQuestion } from './usage-query.ts'
import { usageStore } from './usage-store.ts'
import { DISTINCT_MAX, forgetTags, OTHER } from './usage-tag-store.ts'

const KEPT_DAYS = 90 // as housekeeping has it

withDb((db) => {
  test.each([
    ['a filter', { tag: 'team=search', group_by: 'model' }],
    ['a group beside another that events alone know', { group_by: 'bundle_id,tag:team' }],
  ])('R78 %s finds the tags of each event by an index', async (_what, query) => {
    const project_id = await projectIn(db())
    const made = (n: number) =>
      usageEvent(project_id, { created_at: rfc3339(NOON + n), tags: { team: n % 2 ? 'search' : 'core' } })
    await insertAll(
      db(),
      Array.from({ length: 600 }, (_, n) => made(n)),
    )
    const asked: Sql[] = []
    const rows = <Row>(statement: Sql) => db().rows<Row>(asked[asked.push(statement) - 1] as Sql)
    await usageStore({ ...db(), rows }).grouped(project_id, usageQuestion(query))
    const plans = await Promise.all(asked.filter(({ text }) => text.join().includes('usage_tag')).map(planOf))
    expect(plans.length).toBeGreaterThan(0)
    for (const plan of plans) expect(plan).toMatch(BY_AN_INDEX)
  })

  /** A call of a project with one tag, settled so many days after noon: what it was filed under. */
  async function filed(project_id: string, run: string, days: number, on: Db = db()): Promise<string | undefined> {
    const event = usageEvent(project_id, { created_at: rfc3339(NOON + days * DAY_MS), tags: { run } })
    await usageStore(on).insert(event)
    return (await usageStore(on).find(project_id, event.trace_id))?.tags?.run
  }

  async function placesOf(project_id: string) {
    const [row] = await db().rows<{ tag_count: number }>(sql`SELECT tag_count FROM project WHERE id = ${project_id}`)
    const tags = await db().rows<{ value: string }>(sql`
      SELECT value FROM project_tag WHERE project_id = ${project_id} ORDER BY value`)
    return [Number(row?.tag_count), tags.map(({ value }) => value)]
  }

  const fill = (project_id: string) =>
    db().rows(sql`UPDATE project SET tag_count = ${DISTINCT_MAX} WHERE id = ${project_id}`)
  const forget = async (days: number) => {
    while (await forgetTags(db(), NOON + (days - KEPT_DAYS) * DAY_MS));
  }

  test('R70 a tag that is used keeps its place, however long ago it came first; one that is not gives it back', async () => {
    const project_id = await projectIn(db())
    await filed(project_id, 'once', 0)
    for (let day = 0; day <= 120; day += 10) expect(await filed(project_id, 'daily', day)).toBe('daily')
    await filed(project_id, 'lately', 35)
    await forget(120)
    expect(await placesOf(project_id)).toEqual([2, ['daily', 'lately']])
  })

  test('R70 a tag that gave its place back is not filed under its name by who remembers it, where none is free', async () => {
    const project_id = await projectIn(db())
    for (const days of [0, 0.5]) expect(await filed(project_id, 'a', days)).toBe('a') // known by now
    await forget(92)
    await fill(project_id)
    expect(await filed(project_id, 'a', 92)).toBe(OTHER)
    await db().rows(sql`UPDATE project SET tag_count = 0 WHERE id = ${project_id}`)
    expect(await filed(project_id, 'a', 92)).toBe('a')
    expect(await placesOf(project_id)).toEqual([1, ['a']])
  })

  test('R70 whoever was used in the last 90 days is not forgotten, though its use is noted once a day', async () => {
    const project_id = await projectIn(db())
    for (const days of [0, 0.99]) await filed(project_id, 'a', days)
    await forget(90.98)
    expect(await placesOf(project_id)).toEqual([1, ['a']])
    await forget(91)
    expect(await placesOf(project_id)).toEqual([0, []])
  })

  test('R43 a tag of settlings that came to nothing is not remembered', async () => {
    const project_id = await projectIn(db())
    const failing = db().transaction(async (tx) => {
      for (let n = 0; n < 3; n++) expect(await filed(project_id, 'a', 0, tx)).toBe('a')
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    await fill(project_id)
    expect(await filed(project_id, 'a', 0.5)).toBe(OTHER)
  })

  test('R70 a tag that is known costs no statement for its place, but for two a day', async () => {
    const project_id = await projectIn(db())
    const tampering: Tampering = {}
    const on = tamperedDb(db(), tampering)
    const noted = countStatements(tampering)
    const asked = async (...days: number[]) => {
      const texts = await noted.while(async () => {
        for (const day of days) await filed(project_id, 'a', day, on)
      })
      return texts.filter((text) => /project_tag|tag_count/.test(text)).map((text) => text.split(' ')[0])
    }
    expect(await asked(0)).toEqual(['SELECT', 'UPDATE', 'INSERT'])
    expect(await asked(0.001)).toEqual(['SELECT'])
    expect(await asked(0.002, 0.1, 0.5, 0.9)).toEqual([])
    expect(await asked(1.1)).toEqual(['SELECT', 'UPDATE'])
    expect(await asked(1.101, 1.2, 1.9, 2)).toEqual(['SELECT'])
  })

  test.runIf(ENGINE === 'postgres')(
    'R78 two settlings that note the use of the same tags in their own order do not wait for each other',
    async () => {
      const project_id = await projectIn(db())
      for (const run of ['a', 'b']) await filed(project_id, run, 0)
      const first = [deferred(), deferred()]
      let tries = 0
      const settlingOf = (at: number, ...runs: string[]) =>
        db().transaction(async (tx) => {
          tries++
          for (const run of runs) {
            expect(await filed(project_id, run, 50, tx)).toBe(run)
            first[at]?.resolve()
            await first[1 - at]?.promise
          }
        })
      await Promise.all([settlingOf(0, 'a', 'b'), settlingOf(1, 'b', 'a')])
      const noted = await db().rows<{ value: string }>(sql`
        SELECT value FROM project_tag WHERE project_id = ${project_id} AND first_ms > ${NOON} ORDER BY value`)
      expect(noted.map(({ value }) => value)).toEqual(['a', 'b'])
      expect(tries).toBe(2)
    },
  )

  test.runIf(ENGINE === 'postgres')('R70 a tag whose use is noted while it is to be forgotten stays', async () => {
    const project_id = await projectIn(db())
    await filed(project_id, 'a', 0)
    const [noting, go] = [deferred(), deferred()]
    const settling = db().transaction(async (tx) => {
      await filed(project_id, 'a', 100, tx)
      noting.resolve()
      await go.promise
    })
    await noting.promise
    const forgetting = forget(100)
    const waiting = sql`
      SELECT 1 AS waiting FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%DELETE FROM project_tag%'`
    await expect.poll(() => db().rows(waiting)).toHaveLength(1)
    go.resolve()
    await Promise.all([settling, forgetting])
    expect(await placesOf(project_id)).toEqual([1, ['a']])
  })

  /** By the trace id and the name, or by the project and the time. */
  const BY_AN_INDEX =
    ENGINE === 'sqlite'
      ? /SEARCH t (EXISTS )?USING (COVERING )?INDEX sqlite_autoindex_usage_tag_1 \(trace_id=\? AND name=\?\)/
      : /Index Scan using usage_tag_by_time on usage_tag t .*Index Cond: [^)]*project_id = [^)]*\) AND \(created_ms = e\.created_ms\)/

  async function planOf({ text: [first, ...rest], values }: Sql): Promise<string> {
    const explain = ENGINE === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'
    const lines = await db().rows<object>({ text: [`${explain} ${first}`, ...rest], values, once: true })
    return lines.map((line) => Object.values(line).at(-1)).join(' ')
  }
})
