// §8.1 purge jobs and what people do with them meanwhile: a step that is under way overwrites nobody's word.
import { expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { ENGINE } from '../support/databases.ts'
import { upload } from '../support/forms.ts'
import { type Answer, withService } from '../support/service.ts'
import { deferred, textOf } from '../support/tampered-db.ts'
import { doneOrWaiting } from '../support/waiting-locks.ts'

withService((service) => {
  const run = () => service().housekeep('run purge jobs')

  /**
   * A job of a project with a session, and what is asked of it just before the first statement that looks like this.
   * When that statement runs, what was asked has happened or waits for the step.
   */
  async function asking(mode: 'plan' | 'erase', path: 'cancel' | 'erase', before: RegExp) {
    const project = await service().newProject()
    await project.post('/v2/sessions', {})
    service().clock.advance(1)
    const { id } = (await project.post('/v2/purge-jobs', { filter: { everything: true }, confirm: 'home', mode })).body
    const { tampering, db } = service()
    const reached = deferred()
    let answer: Promise<Answer> | undefined
    const asked = reached.promise.then(async () => {
      const begun = deferred()
      tampering.transaction = (work, begin) => {
        tampering.transaction = undefined
        begun.resolve()
        return begin(work)
      }
      answer = project.post(`/v2/purge-jobs/${id}/${path}`)
      await Promise.race([answer, begun.promise])
      if (ENGINE === 'postgres') await doneOrWaiting(answer, db, 'purge_job')
    })
    tampering.rows = async (statement, next) => {
      if (before.test(textOf(statement))) {
        tampering.rows = undefined
        reached.resolve()
        await asked
      }
      return next(statement)
    }
    await run()
    const { status } = (await answer) as Answer
    await run()
    const job = (await project.get(`/v2/purge-jobs/${id}`)).body
    const receipt = await project.get(`/v2/purge-jobs/${id}/receipt`)
    return [status, job.status, receipt.status]
  }

  const STEP = /^UPDATE purge_job SET phase/
  const END = /^UPDATE purge_job SET status = \?, error/

  test('§8.1 a job that is cancelled while a step is under way ends with that step', async () => {
    expect(await asking('erase', 'cancel', STEP)).toEqual([200, 'cancelled', 404])
  })

  test('§8.1 who cancels while a job ends is told that it has ended', async () => {
    expect(await asking('erase', 'cancel', END)).toEqual([400, 'succeeded', 200])
  })

  test('§8.1 a plan that is carried out while it is counted is carried out', async () => {
    expect(await asking('plan', 'erase', STEP)).toEqual([200, 'succeeded', 200])
  })

  test.each(['bundles', 'artifacts'])(
    'R70 a bundle that somebody else deletes meanwhile gives back one place: a purge of %s',
    async (kind) => {
      const { db, tampering } = service()
      const project = await service().newProject()
      const { id: artifact_id } = (await upload(project, 'shared')).body
      const made = async (role: string) =>
        (await project.post('/v2/bundles', { items: [{ artifact_id, role }] })).body.id
      const [theirs] = [await made('user'), await made('system')]
      service().clock.advance(1)
      const asked = { filter: { everything: true }, confirm: 'home', kinds: [kind], mode: 'erase' }
      const { id } = (await project.post('/v2/purge-jobs', asked)).body
      tampering.rows = async (statement, next) => {
        if (/^DELETE FROM bundle_item/.test(textOf(statement))) {
          tampering.rows = undefined
          await next(sql`DELETE FROM bundle_item WHERE bundle_id = ${theirs}`)
          await next(sql`DELETE FROM bundle WHERE id = ${theirs}`)
        }
        return next(statement)
      }
      await run()
      expect((await project.get(`/v2/purge-jobs/${id}`)).body.status).toBe('succeeded')
      const [quota] = await db.rows<{ present: number }>(sql`
      SELECT present FROM project_quota WHERE project_id = ${project.project.id} AND kind = 'bundles'`)
      expect(quota?.present).toBe(1) // which whoever deleted it gives back
    },
  )
})
