// GET /v2/attention: what somebody should look at now.
import type { Clock } from '../core/clock.ts'
import { listOf } from '../core/shapes.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { AttentionItem, attentionOf } from './attention.ts'
import { attentionStore } from './attention-store.ts'

interface Needs {
  clock: Clock
  /** Targets whose circuit is not closed, in this process. */
  leftAlone(): string[]
}

export const attentionRoutes: Routes<Needs> = async (app, { clock, leftAlone }) => {
  app.get(
    '/v2/attention',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags: ['Project'],
        summary: 'What needs attention, the most urgent first',
        description:
          'Limits that are used up to 80 % (a warning) or 95 % (critical), of at most 100 keys; clusters that are ' +
          'down, silent or degraded; targets that keep failing, as the answering process sees them; credentials ' +
          'that were refused; subscriptions that run out; an owner who has not verified the e-mail address.',
        response: { 200: listOf(AttentionItem) },
      },
    },
    async ({ caller: { project_id }, db }) => {
      const facts = found(await attentionStore(db).factsOf(project_id), 'project', project_id)
      return list(attentionOf({ ...facts, left_alone: leftAlone() }, clock.now()))
    },
  )
}
