// `switchyard credential`: a project's own keys at providers, over HTTP. A secret is never an argument, which everybody
// on the machine can see in the list of processes, and which the shell keeps in its history.
import { text as textOf } from 'node:stream/consumers'
import type { Command } from 'commander'
import type { Credential } from '../../src/credentials/credential.ts'
import { idOf, type Printing, print, service, withExample, withJson } from '../command-line.ts'
import { EXIT, Failure } from '../failure.ts'
import { card, table, when } from '../table.ts'

export function addCredential(program: Command): void {
  const credential = program
    .command('credential')
    .description('provider credentials of the project that SWITCHYARD_KEY belongs to')

  const entering = withJson(credential.command('add'))
    .description('enter a credential; its secret is read from standard input, or from a variable')
    .requiredOption('--provider <id>', 'whose it is, such as openai')
    .requiredOption('--name <text>', 'what people call it')
    .option('--base-url <url>', 'where to call, if not where the provider is usually called')
    .option('--secret-env <name>', 'the environment variable that holds the secret')
    .action(add)
  withExample(
    entering,
    'OPENAI_API_KEY=sk-… switchyard credential add --provider openai --name team --secret-env OPENAI_API_KEY',
    'switchyard credential add --provider openai --name team < openai-key.txt',
  )

  const listing = withJson(credential.command('list'))
    .description('list credentials, newest first; secrets are never shown')
    .action(list)
  withExample(listing, 'switchyard credential list')

  const verifying = withJson(credential.command('verify'))
    .description('ask the provider whether it accepts a credential; exit code 1 where it does not')
    .argument('<id>', 'begins pcr_', idOf('pcr'))
    .action(verify)
  withExample(verifying, 'switchyard credential verify pcr_1b2c3d4e5f6g7h8i9j0k')

  const revoking = withJson(credential.command('revoke'))
    .description('revoke a credential: its secret is deleted at once')
    .argument('<id>', 'begins pcr_', idOf('pcr'))
    .action(revoke)
  withExample(revoking, 'switchyard credential revoke pcr_1b2c3d4e5f6g7h8i9j0k')
}

interface Entering extends Printing {
  provider: string
  name: string
  baseUrl?: string
  secretEnv?: string
}

async function add({ provider, name, baseUrl, secretEnv, json }: Entering): Promise<void> {
  const client = service() // before anything is read: a bad setting is told at once
  const secret = secretEnv === undefined ? await fromInput() : fromVariable(secretEnv)
  const { body, text } = await client.post<Credential>('/v2/provider-credentials', {
    provider,
    name,
    secret,
    ...(baseUrl !== undefined && { base_url: baseUrl }),
  })
  print(json ? text : describe(body))
}

async function fromInput(): Promise<string> {
  if (process.stdin.isTTY)
    throw new Failure(EXIT.usage, 'Pipe the secret in, or name its variable with --secret-env; a terminal shows it.')
  const secret = (await textOf(process.stdin)).trim()
  if (secret === '') throw new Failure(EXIT.usage, 'Standard input holds no secret.')
  return secret
}

function fromVariable(name: string): string {
  const secret = process.env[name]?.trim()
  if (!secret) throw new Failure(EXIT.usage, `The variable ${name} is not set.`)
  return secret
}

async function list({ json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: Credential[] }>('/v2/provider-credentials')
  if (json) return print(text)
  const rows = body.data.map((one) => [
    one.id,
    one.provider,
    one.name,
    one.masked,
    one.status,
    when(one.verified_at),
    one.base_url ?? '-',
  ])
  print(table(['ID', 'PROVIDER', 'NAME', 'SECRET', 'STATUS', 'VERIFIED', 'ADDRESS'], rows))
}

/** What a script asks is whether it works, so the exit code says that. */
async function verify(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().post<Credential>(`/v2/provider-credentials/${id}/verify`, {})
  print(json ? text : describe(body))
  if (body.status !== 'active') throw new Failure(EXIT.failed, `The provider does not accept ${id}.`)
}

async function revoke(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().delete<{ id: string }>(`/v2/provider-credentials/${id}`)
  print(json ? text : `Revoked ${body.id}.`)
}

const describe = ({ id, provider, name, masked, status, verified_at, base_url }: Credential) =>
  card({
    Credential: id,
    Provider: provider,
    Name: name,
    Secret: masked,
    Status: status,
    Verified: when(verified_at),
    ...(base_url !== undefined && { Address: base_url }),
  })
