// What a replay run planned and found: its items page by page, their outputs, and all of it compared.
import { Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import type { Sealing } from '../core/sealing.ts'
import { listOf } from '../core/shapes.ts'
import { wholeNumber } from '../core/text-values.ts'
import { found, page, type Routes } from '../http/routes.ts'
import { endWhereStalled } from '../http/unread-answers.ts'
import type { Db } from '../storage/db.ts'
import { compare, isCompared, ReplayComparison } from './replay-comparison.ts'
import { ARMS, ITEM_STATUSES, ReplayItem } from './replay-item.ts'
import { replayItemStore, replayOutputStore, shownItem } from './replay-item-store.ts'
import { CALLS_MAX } from './replay-source.ts'
import { replayStore } from './replay-store.ts'

const Params = Type.Object({ replay_run_id: Type.String({ description: 'Begins `rpl_`.' }) })
const LIMIT_MAX = 1_000
const ITEMS_MAX = ARMS.length * CALLS_MAX

const ItemParams = Type.Object({
  replay_run_id: Type.String({ description: 'Begins `rpl_`.' }),
  trace_id: Type.String({ description: 'Of the recorded call.' }),
  arm: Type.Enum([...ARMS]),
})

const ItemQuery = Type.Object({
  status: Type.Optional(Type.Enum([...ITEM_STATUSES])),
  arm: Type.Optional(Type.Enum([...ARMS])),
  limit: Type.Optional(Type.String({ description: `At most so many, 1 to ${LIMIT_MAX}. Without it, all of them.` })),
  after: Type.Optional(Type.String({ description: 'The next page: `trace_id/arm` of the last item of a page.' })),
})

const admin = { scope: 'admin', class: 'admin' } as const
const tags = ['Replay runs']

export const replayItemRoutes: Routes<{ seals: Sealing }> = async (app, { seals }) => {
  const runOf = async (db: Db, project_id: string, id: string) =>
    found(await replayStore(db).find(project_id, id), 'replay run', id)

  /** Where the item stands that a page begins behind. */
  async function placeOf(db: Db, project_id: string, run_id: string, after: string): Promise<number> {
    const [trace_id = '', arm] = after.split('/')
    const known = ARMS.find((one) => one === arm)
    const item = known && (await replayItemStore(db).find({ project_id, run_id, trace_id, arm: known }))
    if (!item) throw new Refusal('invalid_request', "'after' must be `trace_id/arm` of an item of this run.")
    return item.position
  }

  app.get(
    '/v2/replay-runs/:replay_run_id/items',
    {
      config: admin,
      schema: {
        tags,
        summary: 'List the items of a replay run',
        description: 'In the order in which they are asked, whole or, with `limit`, a page at a time.',
        params: Params,
        querystring: ItemQuery,
        response: { 200: listOf(ReplayItem) },
      },
    },
    async ({
      caller: { project_id },
      params: { replay_run_id },
      query: { status, arm, limit: text, after: last },
      db,
    }) => {
      const { id } = await runOf(db, project_id, replay_run_id)
      const limit = text === undefined ? ITEMS_MAX : wholeNumber('limit', text, { minimum: 1, maximum: LIMIT_MAX })
      const after = last === undefined ? undefined : await placeOf(db, project_id, id, last)
      const items = await replayItemStore(db).list(project_id, id, { status, arm, after, limit: limit + 1 })
      return page(items.map(shownItem), limit)
    },
  )

  app.get(
    '/v2/replay-runs/:replay_run_id/comparison',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Compare a replay run with what was recorded',
        description:
          'Of the items that were answered so far. Tokens, cost and times are compared call by call; rates have ' +
          'Wilson intervals. `differences` names only what differs by more than the control arm does.',
        params: Params,
        response: { 200: ReplayComparison },
      },
    },
    async ({ caller: { project_id }, params: { replay_run_id }, db }) => {
      const { id, control } = await runOf(db, project_id, replay_run_id)
      return comparisonOf(db, { project_id, id, control })
    },
  )

  app.get(
    '/v2/replay-runs/:replay_run_id/items/:trace_id/:arm/output',
    {
      config: admin,
      schema: {
        tags,
        summary: 'Retrieve what an item was answered',
        description:
          'The bytes of the answer, a refusal among them. 404 where it has none, there was no room for it ' +
          '(`replay_outputs_mib`), or a purge job has erased it.',
        params: ItemParams,
        response: { 200: { content: OUTPUT } },
      },
    },
    async ({ caller: { project_id }, params: { replay_run_id: run_id, trace_id, arm }, db }, reply) => {
      await runOf(db, project_id, run_id)
      const output = await replayOutputStore(db, seals).find({ project_id, run_id, trace_id, arm })
      const bytes = found(output, 'output of', `${trace_id}/${arm}`)
      endWhereStalled(reply.raw)
      return reply.type(bytes[0] === OPEN_BRACE ? 'application/json' : 'text/event-stream; charset=utf-8').send(bytes)
    },
  )
}

const OPEN_BRACE = 0x7b
const OUTPUT = { 'application/json': { schema: {} }, 'text/event-stream': { schema: { type: 'string' } } }

/** Of what was answered so far. */
export async function comparisonOf(
  db: Db,
  { project_id, id, control }: { project_id: string; id: string; control: boolean },
) {
  const done = await replayItemStore(db).list(project_id, id, { status: 'done', limit: ITEMS_MAX })
  return compare(id, done.filter(isCompared), control)
}
