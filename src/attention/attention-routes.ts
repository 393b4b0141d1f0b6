// GET /v2/attention: what somebody should look at now.
import type { Clock } from '../core/clock.ts'
import { listOf } from '../core/shapes.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { type AttentionFacts, AttentionItem, attentionOf, type LeftAlone } from './attention.ts'
import { attentionStore } from './attention-store.ts'

interface Needs {
  clock: Clock
  /** Targets whose circuit is not closed to a project, in this process. */
  leftAlone(project_id: string): LeftAlone[]
  /** R73: calls of a project that left its own capacity, in this process. */
  departuresOf(project_id: string): AttentionFacts['departures']
}

export const attentionRoutes: Routes<Needs> = async (app, { clock, leftAlone, departuresOf }) => {
  app.get(
    '/v2/attention',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags: ['Project'],
        summary: 'What needs attention, the most urgent first',
        description:
          'Limits that are used up to 80 % (a warning) or 95 % (critical), of at most 100 keys, children not among ' +
          'them; clusters that are down, silent or degraded; targets that keep failing, and calls that left own ' +
          'clusters or credentials within the last hour, as the answering process sees them; a project above its ' +
          'cap; credentials that were refused; subscriptions that run out; notification channels that fail; usage ' +
          'that cannot be added up; an owner who has not verified the e-mail address.',
        response: { 200: listOf(AttentionItem) },
      },
    },
    async ({ caller: { project_id }, db }) => {
      const now = clock.now()
      const facts = found(await attentionStore(db).factsOf(project_id, now), 'project', project_id)
      const seen = { left_alone: leftAlone(project_id), departures: departuresOf(project_id) }
      return list(attentionOf({ ...facts, ...seen }, now))
    },
  )
}
