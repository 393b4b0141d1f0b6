// `switchyard key`: §4.1–4.4 over HTTP, and the limits by the calendar beside them (R65).
import { type Command, Option } from 'commander'
import type { Scope } from '../../src/core/scopes.ts'
import type { ApiKey, NewKey } from '../../src/keys/key.ts'
import { idOf, type Printing, print, service, usdAmount, wholeNumber, withExample, withJson } from '../command-line.ts'
import { configuration, operateProjects } from '../on-demand.ts'
import { dollars, table, when } from '../table.ts'
import { describe, limitsOf, withSecret } from './key-card.ts'
import { addKeyLifecycle, type KeyTerms, termsOf } from './key-lifecycle.ts'

const SCOPES = ['read', 'inference', 'admin'] as const satisfies readonly Scope[]

export function addKey(program: Command): void {
  const key = program.command('key').description('API keys of the project that SWITCHYARD_KEY belongs to')

  const creation = withJson(key.command('create'))
    .description('create a key, which is printed once')
    .requiredOption('--name <text>', 'what people call it')
    .addOption(new Option('--scope <scope...>', 'what it may do (default: inference)').choices(SCOPES))
    .option('--expires <time>', 'when it ends, such as 2027-01-01T00:00:00Z')
    .option('--models <name...>', 'the only models it may name; gpt-4o* stands for all that begin so')
    .option('--cidrs <network...>', 'the only networks it works from, such as 203.0.113.0/24')
    .option('--allowed-cluster <id...>', 'the only clusters it reports for, each begins byc_')
    .option('--clamp-output', 'where the budget does not buy the output a call allows, give what it buys')
    .option('--max-parallel <count>', 'how many of its generations may run at once', wholeNumber)
    .option('--project <id or name>', 'a project of the store, as its operator: needs no key, and no running service')
    .action(create)
  withExample(
    creation,
    'switchyard key create --name worker --scope inference',
    'switchyard key create --project default --name admin --scope admin',
    'switchyard key create --name heartbeat --allowed-cluster byc_1b2c3d4e5f6g7h8i9j0k',
    'switchyard key create --name ci --expires 2027-01-01T00:00:00Z --models fast gpt-4o* --cidrs 203.0.113.0/24',
  )

  const listing = withJson(key.command('list'))
    .description('list keys, newest first: all of them, or a page')
    .option('--limit <count>', 'at most so many, 1 to 1000')
    .option('--after <id>', 'only keys behind this one, the last of a page', idOf('key'))
    .option('--parent <id>', 'only child keys of this one', idOf('key'))
    .action(list)
  withExample(
    listing,
    'switchyard key list',
    'switchyard key list --limit 100 --after key_1b2c3d4e5f6g7h8i9j0k',
    "switchyard key list --json | jq -r '.data[].id'",
  )

  const revoking = withJson(key.command('revoke'))
    .description('revoke a key: it stops working at once')
    .argument('<id>', 'begins key_', idOf('key'))
    .action(revoke)
  withExample(revoking, 'switchyard key revoke key_1b2c3d4e5f6g7h8i9j0k')

  const budgeting = withJson(key.command('budget'))
    .description('set or clear the spending limit of a key')
    .argument('<id>', 'begins key_', idOf('key'))
    .option('--usd <amount>', 'limit in US dollars; 0 blocks every generation', usdAmount)
    .addOption(new Option('--clear', 'no limit').conflicts(['usd', 'window']))
    .addOption(new Option('--window <period>', 'for each of these, beside the total').choices(['day', 'week', 'month']))
    .addOption(new Option('--clear-window', 'no limit for each day, week or month').conflicts(['usd', 'window']))
    .action(budget)
  withExample(
    budgeting,
    'switchyard key budget key_1b2c3d4e5f6g7h8i9j0k --usd 25',
    'switchyard key budget key_1b2c3d4e5f6g7h8i9j0k --usd 2 --window day',
    'switchyard key budget key_1b2c3d4e5f6g7h8i9j0k --clear',
  )
  addKeyLifecycle(key)
}

type Creating = Printing & KeyTerms & { name: string; scope?: Scope[]; project?: string }

async function create({ name, scope, json, project, ...terms }: Creating): Promise<void> {
  const asked = { name, ...(scope && { scopes: scope }), ...termsOf(terms) }
  if (project !== undefined) return createInStore(project, asked, json)
  const { body, text } = await service().post<ApiKey & { key: string }>('/v2/api-keys', asked)
  print(json ? text : withSecret(body))
}

/** Also the way back in where the last admin key is lost. */
async function createInStore(project: string, asked: NewKey, json = false): Promise<void> {
  const { readConfig } = await configuration()
  const { createKeyIn } = await operateProjects()
  const created = await createKeyIn(readConfig(), project, asked)
  print(json ? JSON.stringify(created) : withSecret(created))
}

type Listing = Printing & { limit?: string; after?: string; parent?: string }

async function list({ json, limit, after, parent }: Listing): Promise<void> {
  const asked = new URLSearchParams({
    ...(limit !== undefined && { limit }),
    ...(after !== undefined && { after }),
    ...(parent !== undefined && { parent_id: parent }),
  })
  const path = asked.size > 0 ? `/v2/api-keys?${asked}` : '/v2/api-keys'
  const { body, text } = await service().get<{ data: ApiKey[]; has_more: boolean }>(path)
  if (json) return print(text)
  const rows = body.data.map((key) => [
    key.id,
    key.name,
    key.masked,
    key.scopes.join(' '),
    key.status,
    dollars(key.spent_micros),
    limitsOf(key),
    when(key.last_used_at),
  ])
  print(table(['ID', 'NAME', 'KEY', 'SCOPES', 'STATUS', 'SPENT', 'LIMIT', 'LAST USED'], rows))
  if (body.has_more) print(`There are more: --after ${body.data.at(-1)?.id}`)
}

async function revoke(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().delete<{ id: string }>(`/v2/api-keys/${id}`)
  print(json ? text : `Revoked ${body.id}.`)
}

type Budgeting = Printing & { usd?: number; clear?: true; window?: string; clearWindow?: true }

async function budget(id: string, asked: Budgeting, command: Command): Promise<void> {
  const { usd, clear, window, clearWindow, json } = asked
  if (usd === undefined && !clear && !clearWindow) command.error('give --usd with an amount, or --clear')
  const { body, text } = await service().post<ApiKey>(`/v2/api-keys/${id}/budget`, {
    ...((clear || (usd !== undefined && !window)) && { limit_usd: usd ?? null }),
    ...(window && { window: { period: window, limit_usd: usd } }),
    ...(clearWindow && { window: null }),
  })
  print(json ? text : describe(body))
}
