// GET /v2/audit-log.
import { listOf } from '../core/shapes.ts'
import type { Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import { AuditEntry, AuditQuery, auditQuestion, placed } from './audit.ts'
import { auditStore } from './audit-store.ts'

export const auditRoutes: Routes = async (app) => {
  app.get(
    '/v2/audit-log',
    {
      config: { scope: 'admin', class: 'read', while_suspended: true }, // R74
      schema: {
        tags: ['Audit log'],
        summary: 'Who did what, newest first',
        description:
          'Every change that needs the `admin` scope, and what members did to their accounts, all in one answer. ' +
          'With `limit`, at most so many: `has_more` says whether there are more, and `after` with the last id of a ' +
          'page gives the next one.',
        querystring: AuditQuery,
        response: { 200: listOf(AuditEntry) },
      },
    },
    async ({ caller: { project_id }, query, db }, reply) => {
      const { limit, after: id, ...question } = auditQuestion(query)
      const store = auditStore(db)
      const after = id === null ? undefined : placed(await store.place(project_id, id))
      const entries = store.listAll(project_id, { after, limit, ...question }, () => reply.raw.destroyed)
      return sendList(reply, entries, AuditEntry, limit)
    },
  )
}
