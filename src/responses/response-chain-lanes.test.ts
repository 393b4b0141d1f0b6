// R78: long conversations of one project are read two at a time: how much is read before a call is counted is bounded.
import { expect, test } from 'vitest'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { seals, storedTurns } from '../../test/support/stored-responses.ts'
import { deferred, type Tampering, tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import { type ResponseStore, responseStore } from './response-store.ts'

const HALF_A_MIB = 2 ** 19
const anybody = () => true
const answerOf = (response_id: string) => ({ id: `${response_id.replace('resp', 'msg')}_0` })

type Read = (store: ResponseStore, project_id: string, ids: readonly string[]) => Promise<readonly object[]>
const continued: Read = (store, project_id, ids) => store.history(project_id, ids.at(-1) ?? '', anybody)
const pointedAt: Read = (store, project_id, ids) => store.resolved(project_id, ids.map(answerOf), anybody)

withDb((db) => {
  test.each<[string, Read, number]>([
    ['that are continued', continued, 2],
    ['whose items are pointed at', pointedAt, 1],
  ])(
    'R78 long conversations %s: two of a project at a time; short ones and those of others do not wait',
    async (...asked) => {
      const [, read, items_of_a_turn] = asked
      const turn = storedTurns(db)
      const [many, other] = [await projectIn(db()), await projectIn(db())]
      const long = async (project_id: string) => {
        const ids: string[] = []
        for (let n = 0; n < 3; n++)
          ids.push(await turn(project_id, { said: 'x'.repeat(HALF_A_MIB), previous: ids.at(-1) ?? null }))
        return ids
      }
      const [mine, theirs, short] = [await long(many), await long(other), [await turn(many)]]
      const tampering: Tampering = {}
      const store = responseStore(tamperedDb(db(), tampering), seals)
      const go = deferred()
      let [reading, most] = [0, 0]
      tampering.rows = async (statement, run) => {
        if (!/^SELECT id, sealed FROM/.test(textOf(statement)) || !mine.some((id) => statement.values.includes(id)))
          return run(statement)
        most = Math.max(most, ++reading)
        await go.promise
        return run(statement).finally(() => reading--)
      }
      const all = Array.from({ length: 6 }, () => read(store, many, mine))
      expect(await read(store, many, short)).toHaveLength(items_of_a_turn)
      expect(await read(store, other, theirs)).toHaveLength(3 * items_of_a_turn)
      expect([reading, most]).toEqual([2, 2])
      go.resolve()
      for (const items of await Promise.all(all)) expect(items).toHaveLength(3 * items_of_a_turn)
      expect(most).toBe(2)
    },
  )
})
