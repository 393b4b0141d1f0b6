// `switchyard tag-budget`: hard limits on what calls with a tag may spend, over HTTP.
import type { Command } from 'commander'
import type { TagBudget } from '../../src/budgets/tag-budget.ts'
import { idOf, type Printing, print, service, usdAmount, withExample, withJson } from '../command-line.ts'
import { card, dollars, table } from '../table.ts'

const PATH = '/v2/tag-budgets'
const ID = 'tbg_1b2c3d4e5f6g7h8i9j0k'

export function addTagBudget(program: Command): void {
  const budget = program
    .command('tag-budget')
    .description('limits on what calls with a tag may spend, in the project that SWITCHYARD_KEY belongs to')
  const creating = withJson(budget.command('create'))
    .description('limit what calls with a tag may spend from now on')
    .argument('<tag>', 'such as team=search')
    .argument('<usd>', 'the limit', usdAmount)
    .action(async (tag: string, limit_usd: number, { json }: Printing) => {
      const { body, text } = await service().post<TagBudget>(PATH, { tag, limit_usd })
      print(json ? text : describe(body))
    })
  withExample(creating, 'switchyard tag-budget create team=search 50')
  const listing = withJson(budget.command('list'))
    .description('list tag budgets, newest first')
    .action(async ({ json }: Printing) => {
      const { body, text } = await service().get<{ data: TagBudget[] }>(PATH)
      const rows = body.data.map((one) => [
        ...[one.id, one.tag, dollars(one.limit_micros), dollars(one.spent_micros), dollars(one.held_micros)],
      ])
      print(json ? text : table(['BUDGET', 'TAG', 'LIMIT', 'SPENT', 'HELD'], rows))
    })
  withExample(listing, 'switchyard tag-budget list')
  const setting = withJson(named(budget.command('set')))
    .description('change the limit')
    .argument('<usd>', 'the limit', usdAmount)
    .action(async (id: string, limit_usd: number, { json }: Printing) => {
      const { body, text } = await service().patch<TagBudget>(`${PATH}/${id}`, { limit_usd })
      print(json ? text : describe(body))
    })
  withExample(setting, `switchyard tag-budget set ${ID} 80`)
  const deleting = withJson(named(budget.command('delete')))
    .description('delete a tag budget')
    .action(async (id: string, { json }: Printing) => {
      const { text } = await service().delete(`${PATH}/${id}`)
      print(json ? text : `The tag budget ${id} is deleted.`)
    })
  withExample(deleting, `switchyard tag-budget delete ${ID}`)
}

const named = (command: Command) => command.argument('<budget>', 'begins tbg_', idOf('tbg'))

const describe = ({ id, tag, limit_micros, spent_micros, held_micros }: TagBudget) =>
  card({
    ...{ Budget: id, Tag: tag, Limit: dollars(limit_micros), Spent: dollars(spent_micros), Held: dollars(held_micros) },
  })
