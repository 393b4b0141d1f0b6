// GET /v2/audit-log.
import { listOf } from '../core/shapes.ts'
import { list, type Routes } from '../http/routes.ts'
import { AuditEntry, AuditQuery, auditQuestion } from './audit.ts'
import { auditStore } from './audit-store.ts'

export const auditRoutes: Routes = async (app) => {
  app.get(
    '/v2/audit-log',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags: ['Audit log'],
        summary: 'Who did what, newest first',
        description:
          'Every change that needs the `admin` scope, and what members did to their accounts. At most `limit` ' +
          'entries come back, with `has_more` always false: for more, move `from` and `to`.',
        querystring: AuditQuery,
        response: { 200: listOf(AuditEntry) },
      },
    },
    async ({ caller, query, db }) => list(await auditStore(db).list(caller.project_id, auditQuestion(query))),
  )
}
