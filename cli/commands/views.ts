// `switchyard view`: saved views of the console over HTTP. A view is the part of an address behind its `?`.
import { type Command, Option } from 'commander'
import type { NewSavedView, SavedView } from '../../src/accounts/saved-view.ts'
import { idOf, type Printing, print, service, withExample, withJson } from '../command-line.ts'
import { card, table, when } from '../table.ts'

const PATH = '/v2/saved-views'
const PAGES = ['requests', 'usage'] as const satisfies readonly SavedView['page'][]

export function addView(program: Command): void {
  const view = program.command('view').description('views of the console that SWITCHYARD_KEY saved')

  const listing = withJson(view.command('list')).description('list saved views').action(list)
  withExample(listing, 'switchyard view list')

  const saving = withJson(view.command('save'))
    .description('save the filters of a page under a name, or replace those of that name')
    .argument('<name>', 'what it is called')
    .argument('<query>', 'what stands behind the ? of its address')
    .addOption(new Option('--page <page>', 'the page that it is of').choices(PAGES).default('requests'))
    .action(save)
  withExample(saving, "switchyard view save refused 'outcome=refused&range=7d'")

  const deleting = withJson(view.command('delete'))
    .description('delete a saved view')
    .argument('<view>', 'begins viw_', idOf('viw'))
    .action(remove)
  withExample(deleting, 'switchyard view delete viw_1b2c3d4e5f6g7h8i9j0k')
}

async function list({ json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: SavedView[] }>(PATH)
  if (json) return print(text)
  const rows = body.data.map(({ id, page, name, query, created_at }) => [id, page, name, query, when(created_at)])
  print(table(['VIEW', 'PAGE', 'NAME', 'QUERY', 'CREATED'], rows))
}

async function save(name: string, query: string, { json, page }: Printing & Pick<NewSavedView, 'page'>): Promise<void> {
  const asked: NewSavedView = { page, name, query: query.replace(/^\?/, '') }
  const { body, text } = await service().post<SavedView>(PATH, asked)
  print(json ? text : card({ View: body.id, Page: body.page, Name: body.name, Query: body.query }))
}

async function remove(id: string, { json }: Printing): Promise<void> {
  const { text } = await service().delete(`${PATH}/${id}`)
  print(json ? text : `Deleted ${id}.`)
}
