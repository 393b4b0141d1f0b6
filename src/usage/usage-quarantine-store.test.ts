// R78: one project's bad or many events do not hold up another's sums.
import { expect, test } from 'vitest'
import { heldClock, NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { deferred, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { rollEverything } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { createKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import { usageTasks } from '../start/usage-tasks.ts'
import { fixed, joined, sql } from '../storage/db.ts'
import { alikeEvents } from './alike-events.ts'
import { usageQuarantine } from './usage-quarantine-store.ts'
import { usageQuestion } from './usage-query.ts'
import { usageRollups } from './usage-rollup-store.ts'
import { usageStore } from './usage-store.ts'

const HUGE = '9223372036854775807' // the largest that a BIGINT takes

withDb((db) => {
  /** Events of a project; those at `bad` have a count that nothing can be added to. */
  async function eventsOf(count: number, bad: readonly number[] = [], column = 'cached_tokens') {
    const project_id = await projectIn(db())
    const events = Array.from({ length: count }, () => usageEvent(project_id, { charged_micros: 7 }))
    await db().transaction(async (tx) => {
      for (const event of events) await usageStore(tx).insert(event)
    })
    const spoilt = bad.map((at) => events[at]?.trace_id ?? '')
    for (const trace_id of spoilt)
      await db().rows(joined(fixed(`UPDATE usage_event SET ${column} = ${HUGE}`), sql` WHERE trace_id = ${trace_id}`))
    return { project_id, events, spoilt }
  }

  function turn(written = alikeEvents()) {
    const told: string[] = []
    const counts: number[] = []
    const tasks = usageTasks({
      db: db(),
      clock: heldClock(),
      written,
      onSetAside: ({ trace_id }) => void told.push(trace_id),
      onQuarantine: (events) => void counts.push(events),
      retention_days: 30,
    })
    const run = (name: string) => tasks.find((one) => one.name === name)?.run()
    return { told, counts, roll: () => run('roll up usage'), expire: () => run('let old usage go') }
  }

  const waitingOf = async (project_id: string) =>
    (await db().rows(sql`SELECT trace_id FROM usage_unrolled WHERE project_id = ${project_id}`)).length
  const totalOf = async (project_id: string) => {
    const [total] = (await usageStore(db()).grouped(project_id, usageQuestion({ group_by: 'profile' }))).data
    return [total?.events, total?.charged_micros]
  }

  test.each(['cached_tokens', 'charged_micros'])(
    'R78 an event whose %s cannot be added up is set aside; its neighbours and other projects go on',
    async (column) => {
      await rollEverything(db())
      const bad = await eventsOf(40, [3, 17], column)
      const good = await eventsOf(5)
      const { told, counts, roll } = turn()
      await roll()
      expect(told.sort()).toEqual([...bad.spoilt].sort())
      expect([await waitingOf(bad.project_id), await waitingOf(good.project_id)]).toEqual([0, 0])
      expect(await totalOf(good.project_id)).toEqual([5, 35])
      expect(await totalOf(bad.project_id)).toEqual([38, 38 * 7])
      expect(counts).toEqual([await usageQuarantine(db()).count()])
      await usageQuarantine(db()).retry(bad.project_id)
      await db().rows(sql`DELETE FROM usage_unrolled WHERE project_id = ${bad.project_id}`)
    },
  )

  test('R78 sums that would leave the range of exact numbers are not written, and the event waits apart', async () => {
    await rollEverything(db())
    const { project_id } = await eventsOf(1)
    await turn().roll()
    await db().rows(sql`
      UPDATE usage_rollup SET input_tokens = ${Number.MAX_SAFE_INTEGER} WHERE project_id = ${project_id}`)
    const late = usageEvent(project_id, { charged_micros: 1 })
    await usageStore(db()).insert(late)
    const { told, roll } = turn()
    await roll()
    expect(told).toEqual([late.trace_id])
    const [line] = await usageQuarantine(db()).list(project_id)
    expect(line).toMatchObject({ project_id, charged_micros: 1, reason: expect.stringContaining('too large') })
  })

  test('R78 what this process wrote itself is looked at one by one where it cannot be added up together', async () => {
    await rollEverything(db())
    const known = alikeEvents()
    const [bad, good] = [await projectIn(db()), await projectIn(db())]
    const poison = usageEvent(bad, { cached_tokens: Number.MAX_SAFE_INTEGER })
    for (const event of [poison, usageEvent(bad), usageEvent(good)]) await usageStore(db(), known).insert(event)
    const { told, roll } = turn(known)
    await roll()
    expect(told).toEqual([poison.trace_id])
    expect([await waitingOf(bad), await waitingOf(good)]).toEqual([0, 0])
  })

  test('R78 an operator lists what was set aside and lets it be tried again; mended, it is in the sums', async () => {
    await rollEverything(db())
    const { project_id, spoilt } = await eventsOf(3, [1])
    await turn().roll()
    const quarantine = usageQuarantine(db())
    expect((await quarantine.list(project_id)).map(({ trace_id }) => trace_id)).toEqual(spoilt)
    expect(await quarantine.retry(project_id)).toBe(1)
    await turn().roll()
    expect(await quarantine.list(project_id)).toHaveLength(1) // as bad as before
    await db().rows(sql`UPDATE usage_event SET cached_tokens = 0 WHERE trace_id = ${spoilt[0] ?? ''}`)
    expect(await quarantine.retry(undefined)).toBeGreaterThanOrEqual(1)
    await turn().roll()
    expect(await quarantine.list(project_id)).toEqual([])
    expect(await totalOf(project_id)).toEqual([3, 21])
  })

  test.runIf(ENGINE === 'postgres')(
    'R43 what is set aside while an operator lets others be tried again stays set aside, or waits: none is lost',
    async () => {
      await rollEverything(db())
      const first = await eventsOf(2, [0])
      await turn().roll()
      const tampering: Tampering = {}
      const [reached, go] = [deferred(), deferred()]
      let statements = 0
      tampering.rows = async (statement, run) => {
        if (++statements === 2) {
          reached.resolve()
          await go.promise
        }
        return run(statement)
      }
      const retrying = usageQuarantine(tamperedDb(db(), tampering)).retry(undefined)
      await reached.promise
      const second = await eventsOf(2, [1])
      await turn().roll()
      go.resolve()
      expect(await retrying).toBeGreaterThanOrEqual(1)
      const places = async ({ project_id }: { project_id: string }) =>
        (await waitingOf(project_id)) + (await usageQuarantine(db()).list(project_id)).length
      expect([await places(first), await places(second)]).toEqual([1, 1])
      await turn().roll()
    },
  )

  test('R78 of thousands that were set aside all are tried again, and those whose event is gone are forgotten', async () => {
    await rollEverything(db())
    const { project_id, events } = await eventsOf(1_100)
    const other = await eventsOf(1, [0])
    await db().rows(sql`
      INSERT INTO usage_quarantine (trace_id, project_id, key_id, created_ms, charged_micros, reason, set_aside_ms)
      SELECT trace_id, project_id, key_id, created_ms, 0, 'odd', 0 FROM usage_event WHERE project_id = ${project_id}`)
    await db().rows(sql`DELETE FROM usage_unrolled WHERE project_id = ${project_id}`)
    await db().rows(sql`DELETE FROM usage_event WHERE trace_id = ${events[7]?.trace_id ?? ''}`)
    await turn().roll()
    expect(await usageQuarantine(db()).retry(project_id)).toBe(1_099)
    expect([await waitingOf(project_id), await usageQuarantine(db()).list(project_id)]).toEqual([1_099, []])
    expect(await usageQuarantine(db()).list(other.project_id)).toHaveLength(1)
    await turn().roll()
    expect(await totalOf(project_id)).toEqual([1_099, 7 * 1_099])
  })

  test('R65, R78 what was set aside counts in a limit by the calendar, whether it waits, is summed or neither', async () => {
    await rollEverything(db())
    const project_id = await projectIn(db())
    const { api_key } = await keyStore(db()).insert(
      createKey(project_id, { name: 'k', scopes: ['inference'] }, NOON),
      NOON,
    )
    const charged = (more: object) =>
      usageEvent(project_id, { key_id: api_key.id, charged_micros: 10, created_at: rfc3339(NOON), ...more })
    await usageStore(db()).insert(charged({}))
    await usageStore(db()).insert(charged({ cached_tokens: Number.MAX_SAFE_INTEGER }))
    await turn().roll()
    expect(await usageQuarantine(db()).list(project_id)).toHaveLength(1)
    await usageStore(db()).insert(charged({}))
    await keyStore(db()).setWindow(project_id, api_key.id, { period: 'month', limit_micros: 100 }, NOON)
    const [key] = await db().rows(sql`SELECT window_spent_micros FROM api_key WHERE id = ${api_key.id}`)
    expect(key).toEqual({ window_spent_micros: 30 })
  })

  test('R78 a project with a backlog gets a part of each round: others are done first', async () => {
    await rollEverything(db())
    const many = await eventsOf(5_600)
    const few = await eventsOf(3)
    const order: string[] = []
    const listening = listeningTo((project_id) => order.push(project_id))
    const tasks = usageTasks({ db: listening, clock: heldClock() })
    await tasks[0]?.run()
    expect([await waitingOf(many.project_id), await waitingOf(few.project_id)]).toEqual([0, 0])
    expect(order.indexOf(few.project_id)).toBeLessThanOrEqual(1)
    expect(order.filter((one) => one === many.project_id).length).toBeGreaterThan(1)
  })

  /** Hears whose events are looked at. */
  function listeningTo(heard: (project_id: string) => void) {
    const rows: ReturnType<typeof db>['rows'] = (statement) => {
      if (statement.text[0]?.includes('FROM usage_unrolled WHERE project_id')) heard(statement.values[0] as string)
      return db().rows(statement)
    }
    return { ...db(), rows }
  }

  test('R78 a failure in one project’s turn is told after the others had theirs', async () => {
    await rollEverything(db())
    const [one, two] = [await eventsOf(2, [0]), await eventsOf(2)]
    const failing = one.project_id < two.project_id ? one.project_id : two.project_id
    const rows: ReturnType<typeof db>['rows'] = (statement) =>
      statement.text[0]?.includes('FROM usage_unrolled WHERE project_id') && statement.values[0] === failing
        ? Promise.reject(new Error('odd'))
        : db().rows(statement)
    await expect(usageTasks({ db: { ...db(), rows }, clock: heldClock() })[0]?.run()).rejects.toThrow('odd')
    const other = failing === one.project_id ? two.project_id : one.project_id
    expect([await waitingOf(failing), await waitingOf(other)]).toEqual([2, 0])
    await turn().roll()
  })

  test('§8.2 what was set aside goes with the events of its time', async () => {
    await rollEverything(db())
    const { project_id } = await eventsOf(1, [0])
    await turn().roll()
    await db().rows(sql`
      UPDATE usage_quarantine SET created_ms = ${NOON - 31 * DAY_MS} WHERE project_id = ${project_id}`)
    await turn().expire()
    expect(await usageQuarantine(db()).list(project_id)).toEqual([])
  })

  test('R78 a turn of everything together is as before where nothing is wrong', async () => {
    await rollEverything(db())
    const { project_id } = await eventsOf(30)
    await usageRollups(db()).roll()
    expect(await totalOf(project_id)).toEqual([30, 210])
  })
})
