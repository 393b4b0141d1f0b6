// Background responses at rest: whose is begun next, who may add to its events, and what is left of those that ended.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { HOUR_MS } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { foundProject } from '../start/bootstrap.ts'
import { type Sql, sql } from '../storage/db.ts'
import type { ToldEvent } from './background-response.ts'
import { type BackgroundRow, backgroundStore } from './background-store.ts'

const seals = sealing('a secret for tests, 32 characters or more')
const ANYBODYS = { key_id: 'key_1', made_by: null, made_under: null, response: {}, work: undefined }
const KIB = 1024

withDb((db) => {
  const store = () => backgroundStore(db(), seals)

  async function projectOf(owner: string): Promise<string> {
    const founding = { name: owner, owner_email: `${owner}@example.com`, verified: true }
    return (await foundProject(db(), founding, NOON)).project.id
  }

  let runs = 0

  /** One that `owner` has the lease of, and no other that waits. */
  async function running(owner: string): Promise<BackgroundRow> {
    const id = `resp_run${++runs}`
    const project_id = await projectOf(`run${runs}`)
    await store().insert({ ...ANYBODYS, id, project_id }, NOON)
    const row = await store().claim(owner, NOON)
    expect(row).toMatchObject({ id, status: 'in_progress' })
    return row as BackgroundRow
  }

  const told = (number: number, text = `data: ${number}\n\n`): ToldEvent => ({
    number,
    text,
    type: 'response.output_text.delta',
    response: undefined,
  })

  const eventsOf = async (id: string) =>
    (
      await db().rows<{ first_number: number }>(sql`
        SELECT first_number FROM background_events WHERE response_id = ${id} ORDER BY first_number`)
    ).map(({ first_number }) => first_number)

  const bytesOf = async (id: string) => {
    const [row] = await db().rows<{ event_bytes: number }>(sql`
      SELECT event_bytes FROM background_response WHERE id = ${id}`)
    return row?.event_bytes
  }

  /** What was done, in how many transactions. */
  async function transactionsOf(work: (on: ReturnType<typeof backgroundStore>) => Promise<unknown>): Promise<number> {
    let transactions = 0
    const transaction: Tampering['transaction'] = (inside, begin) => {
      transactions += 1
      return begin(inside)
    }
    await work(backgroundStore(tamperedDb(db(), { transaction }), seals))
    return transactions
  }

  test('R78 a project with many that wait makes nobody wait, and has at most four that run', async () => {
    const [many, one] = [await projectOf('many'), await projectOf('one')]
    for (let n = 0; n < 6; n++) await store().insert({ ...ANYBODYS, id: `resp_many${n}`, project_id: many }, NOON)
    await store().insert({ ...ANYBODYS, id: 'resp_one', project_id: one }, NOON)
    const begun: (string | undefined)[] = []
    for (let n = 0; n < 6; n++) begun.push((await store().claim(`owner ${n}`, NOON))?.id)
    expect(begun).toEqual(['resp_many0', 'resp_one', 'resp_many1', 'resp_many2', 'resp_many3', undefined])
    await db().rows(sql`DELETE FROM background_response`)
  })

  test('§4.11 only who has the lease adds events, and nobody behind the end', async () => {
    const row = await running('first')
    await store().addEvents(row, 'first', [told(0)])
    await store().addEvents(row, 'another', [told(1)])
    expect(await eventsOf(row.id)).toEqual([0])
    const bytes = await bytesOf(row.id)
    expect(await store().cancel(row, {}, NOON)).toBe(true)
    await store().addEvents(row, 'first', [told(2)])
    await store().forgetEvents(row, 'first')
    expect([await eventsOf(row.id), await bytesOf(row.id)]).toEqual([[0], bytes])
  })

  test('§4.11 of one that is deleted while it runs nothing stays, whatever its run still says', async () => {
    const row = await running('first')
    await store().addEvents(row, 'first', [told(0)])
    expect(await store().remove(row, NOON)).toBe(true)
    await store().addEvents(row, 'first', [told(1)])
    expect([await store().find(row.project_id, row.id), await eventsOf(row.id)]).toEqual([undefined, []])
    expect(await store().remove(row, NOON)).toBe(false)
  })

  test('§4.11 a response is stored while it is awaited, and not once it was cancelled or deleted', async () => {
    const [kept, cancelled, deleted] = [await running('first'), await running('first'), await running('first')]
    await store().cancel(cancelled, {}, NOON)
    await store().remove(deleted, NOON)
    const awaited = (row: BackgroundRow) => db().transaction((tx) => backgroundStore(tx, seals).isAwaited(row))
    expect([await awaited(kept), await awaited(cancelled), await awaited(deleted)]).toEqual([true, false, false])
    await store().finish(kept, 'first', { status: 'completed', response: {}, trace_id: undefined }, NOON)
    expect(await awaited(kept)).toBe(true) // its charge may be written later than its end
  })

  test('R22 whoever renews is told whether another has it, or nobody wants it', async () => {
    const [lost, cancelled, deleted] = [await running('first'), await running('first'), await running('first')]
    await db().rows(sql`UPDATE background_response SET owner = 'another' WHERE id = ${lost.id}`)
    await store().cancel(cancelled, {}, NOON)
    await store().remove(deleted, NOON)
    const renewed = (row: BackgroundRow) => store().renew(row, 'first', NOON)
    expect([await renewed(lost), await renewed(cancelled), await renewed(deleted)]).toEqual(['lost', 'over', 'over'])
    await store().finish(lost, 'another', { status: 'completed', response: {}, trace_id: undefined }, NOON)
    expect(await renewed(lost)).toBe('lost')
  })

  test('§4.11 events go after their hour, however many others ended before; the rows stay for a day', async () => {
    const row = await running('first')
    await store().addEvents(row, 'first', [told(0)])
    for (let n = 0; n < 250; n++) {
      const one = { project_id: row.project_id, id: `resp_${row.id}_${n}` }
      await store().insert({ ...ANYBODYS, ...one }, NOON)
      await store().cancel(one, {}, NOON - n)
    }
    await store().finish(row, 'first', { status: 'completed', response: {}, trace_id: undefined }, NOON)
    while (await store().sweep(NOON + HOUR_MS - 1));
    expect(await eventsOf(row.id)).toEqual([0])
    while (await store().sweep(NOON + HOUR_MS));
    expect([await eventsOf(row.id), await bytesOf(row.id)]).toEqual([[], 0])
    while (await store().sweep(NOON + 24 * HOUR_MS));
    const left = await db().rows(sql`SELECT id FROM background_response WHERE project_id = ${row.project_id}`)
    expect(left).toEqual([])
  })

  test('R77 what is deleted goes some megabytes at a time', async () => {
    const row = await running('first')
    for (let n = 0; n < 4; n++) await store().addEvents(row, 'first', [told(n, 'x'.repeat(1_500 * KIB))])
    expect(await transactionsOf((on) => on.remove(row, NOON))).toBe(2)
    expect(await eventsOf(row.id)).toEqual([])
  })

  test('R77 events are read as many as are small, or one that is large', async () => {
    const row = await running('first')
    const texts = [10, 10, 300, 1_000, 200, 100].map((kib) => 'x'.repeat(kib * KIB))
    for (const [n, text] of texts.entries())
      await store().addEvents(row, 'first', [told(2 * n, text), told(2 * n + 1, '.')])
    const read: number[][] = []
    for (let after = -1; after < 11; after = read.at(-1)?.at(-1) ?? 11)
      read.push((await store().eventsAfter(row, after)).map(([number]) => number))
    expect(read).toEqual([
      [0, 1, 2, 3],
      [4, 5],
      [6, 7],
      [8, 9],
      [10, 11],
    ])
    expect((await store().eventsAfter(row, 4)).map(([number]) => number)).toEqual([5])
    expect(await store().eventsAfter(row, 11)).toEqual([])
    await store().remove(row, NOON)
  })

  test('R78 what is told of those that failed or were cancelled counts for an hour; what was made is stored elsewhere', async () => {
    const row = await running('first')
    const large = { instructions: 'x'.repeat(100 * KIB) }
    const taken = async (now: number) => Math.round((await store().takenBy(row.project_id, now)).bytes / KIB)
    await store().finish(row, 'first', { status: 'failed', response: large, trace_id: undefined }, NOON)
    expect(await taken(NOON)).toBe(100)
    const [cancelled, made] = ['cancelled', 'made'].map((name) => ({ ...row, id: `${row.id}_${name}` }))
    for (const one of [cancelled, made] as BackgroundRow[]) await store().insert(one, NOON)
    await store().cancel(cancelled as BackgroundRow, large, NOON)
    await store().claim('first', NOON)
    await store().finish(
      made as BackgroundRow,
      'first',
      { status: 'completed', response: large, trace_id: undefined },
      NOON,
    )
    expect([await taken(NOON), await taken(NOON + HOUR_MS)]).toEqual([200, 0])
    expect(await store().find(row.project_id, `${row.id}_made`)).toMatchObject({ status: 'completed', response: {} })
    expect((await store().find(row.project_id, `${row.id}_cancelled`))?.response).toEqual(large)
    while (await store().sweep(NOON + HOUR_MS));
    expect((await store().find(row.project_id, row.id))?.response).toEqual(large)
  })

  // Without statistics SQLite chooses by rules. What it looks up in a row lies behind all that was asked for.
  test.runIf(ENGINE === 'sqlite')(
    'R78 what a project takes, and what is to be swept, comes out of indexes',
    async () => {
      const asked: Sql[] = []
      const rows: Tampering['rows'] = (statement, run) => run(asked[asked.push(statement) - 1] as Sql)
      const on = backgroundStore(tamperedDb(db(), { rows }), seals)
      await on.takenBy('prj_1', NOON)
      await on.sweep(NOON)
      const plans: string[] = []
      for (const { text, values } of asked.slice(0, 2)) {
        const [first = '', ...rest] = text
        const plan = await db().rows<{ detail: string }>({ text: [`EXPLAIN QUERY PLAN ${first}`, ...rest], values })
        plans.push(...plan.map(({ detail }) => detail).filter((detail) => /background_response/.test(detail)))
      }
      const covering = (index: string) => expect.stringContaining(`COVERING INDEX background_response_${index} (`)
      expect(plans).toEqual(['lately', 'told', 'told', 'not_made', 'told_ended'].map(covering))
    },
  )
})
