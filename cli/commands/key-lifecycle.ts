// `switchyard key edit`, `rotate` and `child`: R60 to R64 over HTTP.
import { type Command, Option } from 'commander'
import type { ApiKey } from '../../src/keys/key.ts'
import { idOf, type Printing, print, service, usdAmount, wholeNumber, withExample, withJson } from '../command-line.ts'
import { describe, withSecret } from './key-card.ts'

export interface KeyTerms {
  expires?: string
  models?: string[]
  cidrs?: string[]
  allowedCluster?: string[]
  clampOutput?: boolean
  maxParallel?: number
}

export const termsOf = ({ expires, models, cidrs, allowedCluster, clampOutput, maxParallel }: KeyTerms) => ({
  ...(expires !== undefined && { expires_at: expires }),
  ...(models && { allowed_models: models }),
  ...(cidrs && { allowed_cidrs: cidrs }),
  ...(allowedCluster && { allowed_clusters: allowedCluster }),
  ...(clampOutput !== undefined && { clamp_output: clampOutput }),
  ...(maxParallel !== undefined && { max_parallel_requests: maxParallel }),
})

export function addKeyLifecycle(key: Command): void {
  const editing = withJson(key.command('edit'))
    .description('change a key')
    .argument('<id>', 'begins key_', idOf('key'))
    .option('--name <text>', 'what people call it')
    .option('--expires <time>', 'when it ends, such as 2027-01-01T00:00:00Z')
    .option('--models <name...>', 'the only models it may name')
    .option('--cidrs <network...>', 'the only networks it works from')
    .option('--allowed-cluster <id...>', 'the only clusters it reports for, each begins byc_')
    .option('--clamp-output', 'where the budget does not buy the output a call allows, give what it buys')
    .option('--no-clamp-output', 'refuse such a call')
    .option('--max-parallel <count>', 'how many of its generations may run at once', wholeNumber)
    .addOption(new Option('--never-expires', 'it has no end').conflicts('expires'))
    .addOption(new Option('--any-model', 'it may name any').conflicts('models'))
    .addOption(new Option('--any-network', 'it works from anywhere').conflicts('cidrs'))
    .addOption(new Option('--any-cluster', 'it is bound to no cluster').conflicts('allowedCluster'))
    .addOption(new Option('--any-parallel', 'as many may run as there are').conflicts('maxParallel'))
    .action(edit)
  withExample(editing, 'switchyard key edit key_1b2c3d4e5f6g7h8i9j0k --models fast --never-expires')

  const rotating = withJson(key.command('rotate'))
    .description('give a key a new secret, which is printed once')
    .argument('<id>', 'begins key_', idOf('key'))
    .option('--overlap <seconds>', 'how long the old one works beside it; 0 ends it now (default: a day)', wholeNumber)
    .action(rotate)
  withExample(
    rotating,
    'switchyard key rotate key_1b2c3d4e5f6g7h8i9j0k',
    'switchyard key rotate key_1b2c3d4e5f6g7h8i9j0k --overlap 0',
  )

  const minting = withJson(key.command('child'))
    .description("create a key for one run out of a key's budget")
    .argument('<parent>', 'begins key_', idOf('key'))
    .requiredOption('--name <text>', 'what people call it')
    .requiredOption('--usd <amount>', 'what it may spend, held on the parent at once', usdAmount)
    .requiredOption('--ttl <seconds>', 'how long it works', wholeNumber)
    .addOption(new Option('--scope <scope...>', 'what it may do (default: inference)').choices(['read', 'inference']))
    .option('--models <name...>', "the only models it may name, among its parent's")
    .action(child)
  withExample(minting, 'switchyard key child key_1b2c3d4e5f6g7h8i9j0k --name run-42 --usd 0.50 --ttl 3600')
}

interface Editing extends Printing, KeyTerms {
  name?: string
  neverExpires?: true
  anyModel?: true
  anyNetwork?: true
  anyCluster?: true
  anyParallel?: true
}

async function edit(id: string, asked: Editing, command: Command): Promise<void> {
  const { name, neverExpires, anyModel, anyNetwork, anyCluster, anyParallel, json } = asked
  const changes = {
    ...(name !== undefined && { name }),
    ...termsOf(asked),
    ...(neverExpires && { expires_at: null }),
    ...(anyModel && { allowed_models: null }),
    ...(anyNetwork && { allowed_cidrs: null }),
    ...(anyCluster && { allowed_clusters: null }),
    ...(anyParallel && { max_parallel_requests: null }),
  }
  if (Object.keys(changes).length === 0) command.error('say what is to change')
  const { body, text } = await service().patch<ApiKey>(`/v2/api-keys/${id}`, changes)
  print(json ? text : describe(body))
}

async function rotate(id: string, { overlap, json }: Printing & { overlap?: number }): Promise<void> {
  const asked = overlap === undefined ? {} : { overlap_seconds: overlap }
  const { body, text } = await service().post<ApiKey & { key: string }>(`/v2/api-keys/${id}/rotate`, asked)
  print(json ? text : withSecret(body))
}

type Minting = Printing & { name: string; usd: number; ttl: number; scope?: string[]; models?: string[] }

async function child(parent: string, { name, usd, ttl, scope, models, json }: Minting): Promise<void> {
  const { body, text } = await service().post<ApiKey & { key: string }>(`/v2/api-keys/${parent}/children`, {
    name,
    limit_usd: usd,
    ttl_seconds: ttl,
    ...(scope && { scopes: scope }),
    ...(models && { allowed_models: models }),
  })
  print(json ? text : withSecret(body))
}
