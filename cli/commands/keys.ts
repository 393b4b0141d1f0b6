// `switchyard key`: §4.1–4.4 over HTTP.
import { type Command, Option } from 'commander'
import type { Scope } from '../../src/core/scopes.ts'
import type { ApiKey } from '../../src/keys/key.ts'
import { idOf, type Printing, print, service, usdAmount, withExample, withJson } from '../command-line.ts'
import { card, dollars, table, when } from '../table.ts'

const SCOPES = ['read', 'inference', 'admin'] as const satisfies readonly Scope[]

export function addKey(program: Command): void {
  const key = program.command('key').description('API keys of the project that SWITCHYARD_KEY belongs to')

  const creation = withJson(key.command('create'))
    .description('create a key, which is printed once')
    .requiredOption('--name <text>', 'what people call it')
    .addOption(new Option('--scope <scope...>', 'what it may do (default: inference)').choices(SCOPES))
    .action(create)
  withExample(creation, 'switchyard key create --name worker --scope inference')

  const listing = withJson(key.command('list')).description('list all keys, newest first').action(list)
  withExample(listing, 'switchyard key list', "switchyard key list --json | jq -r '.data[].id'")

  const revoking = withJson(key.command('revoke'))
    .description('revoke a key: it stops working at once')
    .argument('<id>', 'begins key_', idOf('key'))
    .action(revoke)
  withExample(revoking, 'switchyard key revoke key_1b2c3d4e5f6g7h8i9j0k')

  const budgeting = withJson(key.command('budget'))
    .description('set or clear the spending limit of a key')
    .argument('<id>', 'begins key_', idOf('key'))
    .option('--usd <amount>', 'limit in US dollars; 0 blocks every generation', usdAmount)
    .addOption(new Option('--clear', 'no limit').conflicts('usd'))
    .action(budget)
  withExample(
    budgeting,
    'switchyard key budget key_1b2c3d4e5f6g7h8i9j0k --usd 25',
    'switchyard key budget key_1b2c3d4e5f6g7h8i9j0k --clear',
  )
}

async function create({ name, scope, json }: Printing & { name: string; scope?: Scope[] }): Promise<void> {
  const asked = { name, ...(scope && { scopes: scope }) }
  const { body, text } = await service().post<ApiKey & { key: string }>('/v2/api-keys', asked)
  print(json ? text : `${describe(body)}\nThe key, shown once; store it now:\n\n  ${body.key}\n`)
}

async function list({ json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: ApiKey[] }>('/v2/api-keys')
  if (json) return print(text)
  const rows = body.data.map((key) => [
    key.id,
    key.name,
    key.masked,
    key.scopes.join(' '),
    key.status,
    dollars(key.spent_micros),
    limitOf(key),
    when(key.last_used_at),
  ])
  print(table(['ID', 'NAME', 'KEY', 'SCOPES', 'STATUS', 'SPENT', 'LIMIT', 'LAST USED'], rows))
}

async function revoke(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().delete<{ id: string }>(`/v2/api-keys/${id}`)
  print(json ? text : `Revoked ${body.id}.`)
}

type Budgeting = Printing & { usd?: number; clear?: true }

async function budget(id: string, { usd, clear, json }: Budgeting, command: Command): Promise<void> {
  if (usd === undefined && !clear) command.error('give --usd with an amount, or --clear')
  const { body, text } = await service().post<ApiKey>(`/v2/api-keys/${id}/budget`, { limit_usd: usd ?? null })
  print(json ? text : describe(body))
}

const limitOf = ({ budget_micros }: ApiKey) => (budget_micros === undefined ? '-' : dollars(budget_micros))

function describe(key: ApiKey): string {
  return card({
    Key: key.id,
    Name: key.name,
    Scopes: key.scopes.join(' '),
    Status: key.status,
    Spent: dollars(key.spent_micros),
    Limit: limitOf(key),
  })
}
