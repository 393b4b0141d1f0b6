// /v2/purge-jobs: contents of a project are counted, erased and accounted for.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { listOf } from '../core/shapes.ts'
import { found, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import type { Db } from '../storage/db.ts'
import type { Eraser, PurgeScope } from '../storage/erasing.ts'
import { NewPurgeJob, newPurgeJob, PurgeJob } from './purge-job.ts'
import { isSigned, PurgeReceipt, ReceiptVerdict, type Sign } from './purge-receipt.ts'
import { purgeJobsPresent, purgeStore, scopeOf } from './purge-store.ts'

const Params = Type.Object({ purge_job_id: Type.String({ description: 'Begins `prg_`.' }) })
const admin = { scope: 'admin', class: 'admin' } as const
const tags = ['Purge jobs']

/** A plan and an erasure must not look alike on record. */
const erasure = (body: unknown) =>
  (body as NewPurgeJob).mode === 'erase' ? 'POST /v2/purge-jobs/{purge_job_id}/erase' : undefined

interface Needs {
  clock: Clock
  erasers: readonly Eraser[]
  sign: Sign
}

export const purgeRoutes: Routes<Needs> = async (app, { clock, erasers, sign }) => {
  const known_kinds = erasers.map(({ kind }) => kind)

  /** Twice: a session leads to traces, and a trace to the response that it was the run of. */
  async function relate(tx: Db, scope: PurgeScope): Promise<void> {
    for (const eraser of [...erasers, ...erasers]) await eraser.relate?.(tx, scope)
  }

  app.post(
    '/v2/purge-jobs',
    {
      config: { ...admin, adds: { kind: 'purge_jobs', present: purgeJobsPresent }, audited_as: erasure },
      schema: {
        tags,
        summary: 'Plan a purge, or erase',
        description:
          'Contents that were made before `as_of`, which is now, and match the filter: ids are alternatives, and ' +
          '`key_id`, `from` and `to` narrow them. A plan counts; `mode: erase` erases, in the background. Usage ' +
          'keeps its amounts. A request whose kept answer was erased is answered 410 until its day ends.',
        body: NewPurgeJob,
        response: { 200: PurgeJob },
      },
    },
    async ({ caller: { project_id }, body, db }) => {
      const store = purgeStore(db)
      const project_name = await store.projectName(project_id)
      const { stored, named } = newPurgeJob(body, { project_id, project_name, known_kinds }, clock.now())
      if (!(await store.insert(stored, clock.now()))) throw await underWay(db, project_id)
      await store.name(project_id, stored.job.id, named)
      if (stored.is_listed) await relate(db, scopeOf(stored))
      return stored.job
    },
  )

  app.get(
    '/v2/purge-jobs',
    { config: admin, schema: { tags, summary: 'List purge jobs, newest first', response: { 200: listOf(PurgeJob) } } },
    async ({ caller, db }, reply) => sendList(reply, purgeStore(db).list(caller.project_id), PurgeJob),
  )

  app.get(
    '/v2/purge-jobs/:purge_job_id',
    { config: admin, schema: { tags, summary: 'Retrieve a purge job', params: Params, response: { 200: PurgeJob } } },
    async ({ caller, params: { purge_job_id: id }, db }) =>
      found(await purgeStore(db).find(caller.project_id, id), 'purge job', id),
  )

  app.post(
    '/v2/purge-jobs/:purge_job_id/erase',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Carry out a plan',
        description: 'What was planned is erased: nothing that was made after the plan.',
        params: Params,
        response: { 200: PurgeJob },
      },
    },
    async ({ caller: { project_id }, params: { purge_job_id: id }, db }) => {
      const store = purgeStore(db)
      const { status } = found(await store.find(project_id, id), 'purge job', id)
      if (status !== 'planned') throw hasStatus(id, status, 'planned')
      if (await store.underWay(project_id)) throw await underWay(db, project_id)
      const turned = await store.turn(project_id, id, { from: ['planned'], to: 'queued', now: clock.now() })
      return found(turned, 'plan', id)
    },
  )

  app.post(
    '/v2/purge-jobs/:purge_job_id/cancel',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Cancel a purge job',
        description: 'No further batch is erased. What was erased stays erased, and there is no receipt.',
        params: Params,
        response: { 200: PurgeJob },
      },
    },
    async ({ caller: { project_id }, params: { purge_job_id: id }, db }) => {
      const store = purgeStore(db)
      const from = ['planned', 'queued', 'running'] as const
      const turned = await store.turn(project_id, id, { from, to: 'cancelled', now: clock.now() })
      if (turned) return turned
      const { status } = found(await store.find(project_id, id), 'purge job', id)
      throw hasStatus(id, status, 'planned, queued or running')
    },
  )

  app.get(
    '/v2/purge-jobs/:purge_job_id/receipt',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Retrieve the receipt of a purge job',
        description: '404 until the job has succeeded: a second count must have found nothing.',
        params: Params,
        response: { 200: PurgeReceipt },
      },
    },
    async ({ caller, params: { purge_job_id: id }, db }) => {
      found(await purgeStore(db).find(caller.project_id, id), 'purge job', id)
      return found(await purgeStore(db).receipt(caller.project_id, id), 'receipt of purge job', id)
    },
  )

  app.post(
    '/v2/purge-receipts/verify',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags,
        summary: 'Verify a receipt',
        description: 'Whether this server signed exactly this receipt. Nothing is looked up.',
        // Every field of it counts, so none is told to be ignored (R75).
        body: Type.Object(
          {},
          { title: 'ReceiptToVerify', description: 'A receipt, as it was given.', additionalProperties: true },
        ),
        response: { 200: ReceiptVerdict },
      },
    },
    async ({ body }) => ({ object: 'purge_receipt.verdict' as const, valid: isSigned(body, sign) }),
  )
}

async function underWay(db: Db, project_id: string): Promise<Refusal> {
  const id = await purgeStore(db).underWay(project_id)
  return new Refusal('invalid_request', `The purge job '${id}' of this project is under way. Wait for it or cancel it.`)
}

const hasStatus = (id: string, status: string, must: string) =>
  new Refusal('invalid_request', `The purge job '${id}' is ${status}; it must be ${must}.`)
