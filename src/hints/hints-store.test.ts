// §10.1: stored hints belong to one project and never change.
import { expect, test } from 'vitest'
import { allOf } from '../../test/support/batches.ts'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { foundProject } from '../start/bootstrap.ts'
import { sql } from '../storage/db.ts'
import { createHints, type NewHints } from './hints.ts'
import { hintsStore } from './hints-store.ts'

const QOS: NewHints = { qos: { class: 'interactive', deadline_ms: 30_000 } }

withDb((db) => {
  let projects = 0
  const newProject = async () => {
    const founding = { name: 'home', owner_email: `owner${++projects}@example.com`, verified: true }
    return (await foundProject(db(), founding, NOON)).project.id
  }
  const keep = async (project_id: string, asked = QOS) => {
    const hints = createHints(project_id, asked, NOON)
    await hintsStore(db()).insert(hints, NOON)
    return hints
  }
  const epoch = async (project_id: string) => {
    const [row] = await db().rows<{ routing_epoch: number }>(
      sql`SELECT routing_epoch FROM project WHERE id = ${project_id}`,
    )
    return row?.routing_epoch
  }

  test('§10.1 hints come back as they were stored, named or not', async () => {
    const project_id = await newProject()
    const named = await keep(project_id, { ...QOS, name: 'night shift' })
    const bare = await keep(project_id)
    expect(await hintsStore(db()).find(project_id, named.id)).toEqual(named)
    expect(await hintsStore(db()).find(project_id, bare.id)).toEqual(bare)
  })

  test('R11 the newest are first, also within one millisecond', async () => {
    const project_id = await newProject()
    const kept = []
    for (let n = 0; n < 5; n++) kept.unshift(await keep(project_id))
    expect(await allOf(hintsStore(db()).list(project_id))).toEqual(kept)
  })

  test('T-98 a foreign or unknown reference finds nothing, and cannot be deleted', async () => {
    const [mine, theirs] = [await newProject(), await newProject()]
    const { id } = await keep(theirs)
    expect(await hintsStore(db()).find(mine, id)).toBeUndefined()
    expect(await hintsStore(db()).find(mine, 'ah_none')).toBeUndefined()
    expect(await hintsStore(db()).remove(mine, id)).toBe(false)
    expect(await allOf(hintsStore(db()).list(mine))).toEqual([])
    expect(await hintsStore(db()).find(theirs, id)).toBeDefined()
  })

  test('§10.1 deleted hints are gone, once, and whoever remembers them is told', async () => {
    const project_id = await newProject()
    const { id } = await keep(project_id)
    const before = (await epoch(project_id)) as number
    expect(await hintsStore(db()).remove(project_id, id)).toBe(true)
    expect(await hintsStore(db()).find(project_id, id)).toBeUndefined()
    expect(await hintsStore(db()).remove(project_id, id)).toBe(false)
    expect(await epoch(project_id)).toBe(before + 1)
  })
})
