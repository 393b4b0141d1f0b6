// R78: long conversations of one project are read two at a time: how much is read before a call is counted is bounded.
import { expect, test } from 'vitest'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { seals, storedTurns } from '../../test/support/stored-responses.ts'
import { deferred, type Tampering, tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import { responseStore } from './response-store.ts'

const HALF_A_MIB = 2 ** 19
const anybody = () => true

withDb((db) => {
  test('R78 of one project two long chains are read at a time; short ones and those of others do not wait', async () => {
    const turn = storedTurns(db)
    const [many, other] = [await projectIn(db()), await projectIn(db())]
    const long = async (project_id: string) => {
      let previous: string | undefined
      for (let n = 0; n < 3; n++)
        previous = await turn(project_id, { said: 'x'.repeat(HALF_A_MIB), ...(previous && { previous }) })
      return previous as string
    }
    const [mine, theirs, short] = [await long(many), await long(other), await turn(many)]
    const tampering: Tampering = {}
    const store = responseStore(tamperedDb(db(), tampering), seals)
    const go = deferred()
    let [reading, most] = [0, 0]
    tampering.rows = async (statement, run) => {
      if (!/^SELECT id, sealed FROM/.test(textOf(statement)) || !statement.values.includes(many)) return run(statement)
      most = Math.max(most, ++reading)
      await go.promise
      return run(statement).finally(() => reading--)
    }
    const all = Array.from({ length: 6 }, () => store.history(many, mine, anybody))
    expect(await store.history(many, short, anybody)).toHaveLength(2)
    expect(await store.history(other, theirs, anybody)).toHaveLength(6)
    expect([reading, most]).toEqual([2, 2])
    go.resolve()
    for (const items of await Promise.all(all)) expect(items).toHaveLength(6)
    expect(most).toBe(2)
  })
})
