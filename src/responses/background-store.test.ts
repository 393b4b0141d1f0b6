// R78: whose background response is begun next: that of the project which runs the fewest, and the oldest of it.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { sealing } from '../core/sealing.ts'
import { foundProject } from '../start/bootstrap.ts'
import { backgroundStore } from './background-store.ts'

const seals = sealing('a secret for tests, 32 characters or more')
const ANYBODYS = { key_id: 'key_1', made_by: null, made_under: null, response: {}, work: undefined }

withDb((db) => {
  async function projectOf(owner: string): Promise<string> {
    const founding = { name: owner, owner_email: `${owner}@example.com`, verified: true }
    return (await foundProject(db(), founding, NOON)).project.id
  }

  test('R78 a project with many that wait makes nobody wait, and has at most four that run', async () => {
    const store = backgroundStore(db(), seals)
    const [many, one] = [await projectOf('many'), await projectOf('one')]
    for (let n = 0; n < 6; n++) await store.insert({ ...ANYBODYS, id: `resp_many${n}`, project_id: many }, NOON)
    await store.insert({ ...ANYBODYS, id: 'resp_one', project_id: one }, NOON)
    const begun: (string | undefined)[] = []
    for (let n = 0; n < 6; n++) begun.push((await store.claim(`owner ${n}`, NOON))?.id)
    expect(begun).toEqual(['resp_many0', 'resp_one', 'resp_many1', 'resp_many2', 'resp_many3', undefined])
  })
})
