// §9.4: aliases and releases at rest, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { allOf } from '../../test/support/batches.ts'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { epochsRaised, projectIn } from '../../test/support/projects.ts'
import { turnsDuring } from '../../test/support/turns.ts'
import { type Alias, foundAlias, releaseOf } from './alias.ts'
import { aliasStore } from './alias-store.ts'

const targets = (...models: string[]) => ({ targets: models.map((model) => ({ provider: 'openai', model })) })

withDb((db) => {
  const store = () => aliasStore(db())

  async function alias(project_id: string, name = 'fast'): Promise<Alias> {
    const founded = foundAlias(project_id, { name, ...targets('m1') }, NOON)
    expect(await store().insert(founded, NOON)).toBe(true)
    return founded.alias
  }

  test('§9.4 an alias and its release come back as they went in', async () => {
    const project_id = await projectIn(db())
    const founded = foundAlias(project_id, { name: 'a/b', ...targets('m1', 'm2') }, NOON)
    await store().insert(founded, NOON)
    expect(await store().find(project_id, 'a/b')).toEqual(founded.alias)
    expect(await store().findRelease(project_id, founded.release.id)).toEqual(founded.release)
    const { id, alias_name, targets: pointed_at } = founded.release
    expect(await store().currentReleases(project_id)).toEqual([{ id, alias_name, targets: pointed_at }])
  })

  test('§9.4 of fifty aliases of one name at once, one is stored, and no release of the others', async () => {
    const project_id = await projectIn(db())
    const made = await Promise.all(
      Array.from({ length: 50 }, () =>
        store().insert(foundAlias(project_id, { name: 'x', ...targets('m') }, NOON), NOON),
      ),
    )
    expect(made.filter(Boolean)).toHaveLength(1)
    const [only] = await store().list(project_id)
    expect(await allOf(store().listReleases(only as Alias))).toHaveLength(1)
  })

  test('§9.4 twenty releases at once are numbered one after the other', async () => {
    const made = await alias(await projectIn(db()))
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => store().addRelease(releaseOf(made, targets(`m${n}`), NOON), NOON)),
    )
    const versions = (await allOf(store().listReleases(made))).map((release) => release.version)
    expect(versions).toEqual(Array.from({ length: 21 }, (_, n) => 21 - n))
  })

  test('§9.4 a new release changes nothing until it is activated; the old one can be activated again', async () => {
    const made = await alias(await projectIn(db()))
    const second = await store().addRelease(releaseOf(made, targets('m2'), NOON), NOON)
    const current = async () => (await store().currentReleases(made.project_id))[0]?.targets[0]?.model
    expect(await current()).toBe('m1')
    await store().activate(second!, NOON + 1)
    expect(await current()).toBe('m2')
    const first = await store().findRelease(made.project_id, made.current_release_id)
    expect((await store().activate(first!, NOON + 2))?.current_release_id).toBe(made.current_release_id)
    expect(await current()).toBe('m1')
  })

  test('§9.4 a release outlives its alias, and is not taken for one of a later alias of that name', async () => {
    const project_id = await projectIn(db())
    const before = await alias(project_id)
    expect(await store().remove(project_id, 'fast')).toEqual({ id: before.id })
    const old = await store().findRelease(project_id, before.current_release_id)
    expect(old?.version).toBe(1)
    const after = await alias(project_id)
    expect(await store().activate(old!, NOON)).toBeUndefined()
    expect((await allOf(store().listReleases(after))).map((release) => release.id)).toEqual([after.current_release_id])
    expect(await store().addRelease(releaseOf(before, targets('m'), NOON), NOON)).toBeUndefined()
  })

  test('R77 what many aliases point at is read in steps, and each is told once', async () => {
    const project_id = await projectIn(db())
    const names = Array.from({ length: 41 }, (_, n) => `alias-${n}`)
    for (const name of names)
      await store().insert(foundAlias(project_id, { name, ...targets(`m-${name}`) }, NOON), NOON)
    const { value, turns } = await turnsDuring(db(), (on) => aliasStore(on).currentReleases(project_id))
    expect(value.map(({ alias_name }) => alias_name).sort()).toEqual(names.sort())
    expect(turns).toBeGreaterThanOrEqual(4)
  })

  test('§9.4 the newest releases, and the one that it points at', async () => {
    const made = await alias(await projectIn(db()))
    for (let n = 2; n <= 5; n++) await store().addRelease(releaseOf(made, targets(`m${n}`), NOON), NOON)
    const versions = async (most: number) => (await store().newestReleases(made, most)).map(({ version }) => version)
    expect([await versions(2), await versions(5), await versions(12)]).toEqual([
      [5, 4, 1],
      [5, 4, 3, 2, 1],
      [5, 4, 3, 2, 1],
    ])
  })

  test('§5.8 another project has no such alias and no such release', async () => {
    const made = await alias(await projectIn(db()))
    const stranger = await projectIn(db())
    expect(await store().find(stranger, made.name)).toBeUndefined()
    expect(await store().findRelease(stranger, made.current_release_id)).toBeUndefined()
    expect(await store().remove(stranger, made.name)).toBeUndefined()
    expect(await store().list(stranger)).toEqual([])
    expect(await store().currentReleases(stranger)).toEqual([])
    expect(await allOf(store().listReleases({ ...made, project_id: stranger }))).toEqual([])
  })

  test('R40 what moves the pointer raises the routing epoch, and nothing else does', async () => {
    const project_id = await projectIn(db())
    const raised = (work: () => Promise<unknown>) => epochsRaised(db(), project_id, work)
    expect(await raised(() => alias(project_id))).toBe(1)
    const made = (await store().find(project_id, 'fast'))!
    expect(
      await raised(() => store().insert(foundAlias(project_id, { name: 'fast', ...targets('m') }, NOON), NOON)),
    ).toBe(0)
    const release = (await store().findRelease(project_id, made.current_release_id))!
    expect(await raised(() => store().addRelease(releaseOf(made, targets('m'), NOON), NOON))).toBe(0)
    expect(await raised(() => store().activate(release, NOON))).toBe(1)
    expect(await raised(() => store().remove(project_id, 'fast'))).toBe(1)
    expect(await raised(() => store().remove(project_id, 'fast'))).toBe(0)
  })
})
