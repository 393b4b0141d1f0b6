// §8.1 0272: when the file of the store is written anew for purge jobs, and what their receipts say of it.
import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { SECOND_MS } from '../../src/core/clock.ts'
import { purgeRun } from '../../src/purges/purge-run-store.ts'
import { purgeStore } from '../../src/purges/purge-store.ts'
import { erasers as erasersOf } from '../../src/start/erasers.ts'
import { noGateway } from '../../src/start/gateway-settings.ts'
import { keptQuotas } from '../../src/start/kept-quotas.ts'
import { sql } from '../../src/storage/db.ts'
import { ENGINE } from '../support/databases.ts'
import { type TestProject, withService } from '../support/service.ts'
import { turnsDuring } from '../support/turns.ts'

const ALL = { filter: { everything: true }, confirm: 'home', mode: 'erase' }

withService((service) => {
  /** A runner for which writing the file anew takes five seconds. */
  function slowRun() {
    const { db, clock, artifacts, recordings } = service()
    let scrubs = 0
    const scrub = async () => {
      scrubs++
      clock.advance(5 * SECOND_MS)
      return (await db.scrub?.()) ?? 'overwritten'
    }
    const erasers = erasersOf({ ...keptQuotas(db, noGateway().quotas), artifacts, recordings })
    const sign = (text: string) => hash('sha256', text, 'hex')
    const onFailure = (error: unknown) => {
      throw error
    }
    const run = purgeRun({ db: { ...db, scrub }, clock, erasers, sign, onFailure })
    return { turn: () => run.turn(db), scrubs: () => scrubs }
  }

  async function begun({ sessions }: { sessions: number }) {
    const project = await service().newProject()
    for (let n = 0; n < sessions; n++) await project.post('/v2/sessions', {})
    service().clock.advance(1)
    const { id } = (await project.post('/v2/purge-jobs', ALL)).body as { id: string }
    return { project, id }
  }

  const told = async ({ project, id }: { project: TestProject; id: string }) => [
    (await project.get(`/v2/purge-jobs/${id}`)).body.status,
    (await project.get(`/v2/purge-jobs/${id}/receipt`)).body.storage?.state,
  ]

  test('0272 where nothing was found no file is written anew, and the receipt says so', async () => {
    const { turn, scrubs } = slowRun()
    const job = await begun({ sessions: 0 })
    await turn()
    expect([await told(job), scrubs()]).toEqual([['succeeded', 'untouched'], 0])
  })

  test('0272 what is erased without being counted counts here', async () => {
    const { turn, scrubs } = slowRun()
    const job = await begun({ sessions: 0 })
    const { db, clock } = service()
    await db.rows(sql`
      INSERT INTO large_body_part (parts_id, part, sealed, project_id, loose_since_ms)
      VALUES ('left behind', 0, ${Buffer.from('sealed')}, ${job.project.project.id}, ${clock.now()})`)
    await turn()
    const state = ENGINE === 'sqlite' ? 'rewritten' : 'after_vacuum'
    expect([await told(job), scrubs()]).toEqual([['succeeded', state], ENGINE === 'sqlite' ? 1 : 0])
  })

  test.runIf(ENGINE === 'sqlite')(
    '0272 jobs that end together share it; one right behind them waits for its own, and says nothing before',
    async () => {
      const { turn, scrubs } = slowRun()
      const [one, two] = [await begun({ sessions: 1 }), await begun({ sessions: 2 })]
      await turn()
      expect([await told(one), await told(two), scrubs()]).toEqual([DONE, DONE, 1])
      const [three, empty] = [await begun({ sessions: 1 }), await begun({ sessions: 0 })]
      await turn()
      expect([await told(three), await told(empty), scrubs()]).toEqual([
        ['running', undefined],
        ['succeeded', 'untouched'],
        1,
      ])
      expect((await three.project.get('/v2/sessions')).body.data).toEqual([]) // erased it is
      service().clock.advance(100 * SECOND_MS)
      await turn()
      expect([await told(three), scrubs()]).toEqual([DONE, 2])
    },
  )

  test('R77 a receipt over thousands of things is made in steps', async () => {
    const { project, id } = await begun({ sessions: 0 })
    const ids = Array.from({ length: 2_000 }, (_, n) => `ses_${n}`)
    const { db } = service()
    await db.transaction((tx) => purgeStore(tx).noteErased(project.project.id, id, 'sessions', ids))
    const read = await turnsDuring(db, (on) => purgeStore(on).erasedBy(project.project.id, id, ['sessions']))
    expect(read.value.counts).toEqual({ sessions: 2_000 })
    expect(read.turns).toBeGreaterThanOrEqual(4)
  })
})

const DONE = ['succeeded', 'rewritten']
