// How each engine finds the links of a chain of responses.
import { expect, test } from 'vitest'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { seals, storedTurns } from '../../test/support/stored-responses.ts'
import { type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import type { Sql } from '../storage/db.ts'
import { type ResponseStore, responseStore } from './response-store.ts'

type Reading = (store: ResponseStore, project_id: string, id: string) => Promise<unknown>

withDb((db) => {
  const turn = storedTurns(db)

  const continued: Reading = (store, project_id, id) => store.history(project_id, id, () => true)
  const pointedAt: Reading = (store, project_id, id) =>
    store.resolved(project_id, [{ id: `${id.replace('resp', 'msg')}_0` }], () => true)

  /** How the store first looks at what is asked for, line by line. */
  async function planOfLinks(explain: string, reading = continued): Promise<string[]> {
    const mine = await projectIn(db())
    const id = await turn(mine, { previous: await turn(mine) })
    const asked: Sql[] = []
    const rows: Tampering['rows'] = (statement, run) => run(asked[asked.push(statement) - 1] as Sql)
    await reading(responseStore(tamperedDb(db(), { rows }), seals), mine, id)
    const [{ text, values }] = asked as [Sql]
    const [first = '', ...rest] = text
    const plan = await db().rows<Record<string, unknown>>({ text: [`${explain} ${first}`, ...rest], values })
    return plan.map((row) => String(row.detail ?? row['QUERY PLAN']))
  }

  // In the rows, most of what is asked stands behind the contents.
  test.runIf(ENGINE === 'sqlite')('§7.2 the links of a chain are read out of an index alone', async () => {
    const plan = await planOfLinks('EXPLAIN QUERY PLAN')
    const links = plan.filter((line) => /^(SEARCH|SCAN) (stored_response|r) /.test(line))
    expect(links.length).toBeGreaterThanOrEqual(2)
    for (const line of links) expect(line).toContain('COVERING INDEX stored_response_links (')
  })

  test.runIf(ENGINE === 'sqlite')('§7.2 so is how large that is which items are pointed at in', async () => {
    const [line, ...more] = await planOfLinks('EXPLAIN QUERY PLAN', pointedAt)
    expect([line, more]).toEqual([expect.stringContaining('COVERING INDEX stored_response_links ('), []])
  })

  test.runIf(ENGINE === 'postgres')('§7.2 the links of a chain are asked for by their ids as they are', async () => {
    const plan = (await planOfLinks('EXPLAIN')).join('\n')
    expect(plan).toMatch(/\b(r\.)?id = |= r\.id\)/)
    expect(plan).not.toContain('id)::text')
  })
})
