// What attention reads, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { type Tampering, tamperedDb, textOf } from '../../test/support/tampered-db.ts'
import type { Sql } from '../storage/db.ts'
import { attentionStore } from './attention-store.ts'

withDb((db) => {
  test('R77 a project may have 100,000 keys: they are looked through aside', async () => {
    const asked: Sql[] = []
    const tampering: Tampering = {
      rows(statement, run) {
        asked.push(statement)
        return run(statement)
      },
    }
    await attentionStore(tamperedDb(db(), tampering)).factsOf(await projectIn(db()))
    const ofKeys = asked.filter((statement) => textOf(statement).includes('FROM api_key'))
    expect(ofKeys.map(({ once }) => once)).toEqual([true])
  })
})
