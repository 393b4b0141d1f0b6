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
    .option('--region <name>', 'of Bedrock and Vertex: where calls go, such as us-east-1')
    .option('--api-version <version>', 'of Azure: by deployments of this version')
    .option('--google-project <id>', 'of Vertex, if not that of the service account')
    .option('--model <name=upstream>', 'a model, and what the provider calls it; may be repeated', named, {})
    .action(add)
  withExample(
    entering,
    'OPENAI_API_KEY=sk-… switchyard credential add --provider openai --name team --secret-env OPENAI_API_KEY',
    'switchyard credential add --provider openai --name team < openai-key.txt',
    'switchyard credential add --provider vertex --name ours --region us-east5 --model c=claude-opus-4-6 < key.json',
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
  region?: string
  apiVersion?: string
  googleProject?: string
  model: Record<string, string>
}

async function add({ provider, name, baseUrl, secretEnv, json, ...more }: Entering): Promise<void> {
  const client = service() // before anything is read: a bad setting is told at once
  const secret = secretEnv === undefined ? await fromInput() : fromVariable(secretEnv)
  const { region, apiVersion, googleProject, model: models } = more
  const { body, text } = await client.post<Credential>('/v2/provider-credentials', {
    provider,
    name,
    ...enteredAs(secret),
    ...(baseUrl !== undefined && { base_url: baseUrl }),
    ...(region !== undefined && { region }),
    ...(apiVersion !== undefined && { api_version: apiVersion }),
    ...(googleProject !== undefined && { google_project: googleProject }),
    ...(Object.keys(models).length > 0 && { models }),
  })
  print(json ? text : describe(body))
}

function named(text: string, before: Record<string, string>): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1)
    throw new Failure(EXIT.usage, `--model must be like name=upstream, not '${text}'.`)
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

/** JSON is the key of a service account, or AWS's keys as its tools print them; anything else is the secret itself. */
function enteredAs(secret: string): object {
  if (!secret.startsWith('{')) return { secret }
  const told = jsonIn(secret)
  const keys = (told.Credentials ?? told) as Record<string, unknown>
  const access_key_id = keys.AccessKeyId ?? keys.access_key_id
  if (access_key_id === undefined) return { service_account: told }
  const session_token = keys.SessionToken ?? keys.session_token
  const secret_access_key = keys.SecretAccessKey ?? keys.secret_access_key
  return { aws: { access_key_id, secret_access_key, ...(session_token !== undefined && { session_token }) } }
}

function jsonIn(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    throw new Failure(EXIT.usage, 'The secret begins like JSON, but is not valid JSON.')
  }
}

async function fromInput(): Promise<string> {
  if (process.stdin.isTTY)
    throw new Failure(
      EXIT.usage,
      'Pipe the secret in, or name its variable with --secret-env: a terminal would show it.',
    )
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

const describe = ({ id, provider, name, masked, status, verified_at, base_url, region, models }: Credential) =>
  card({
    Credential: id,
    Provider: provider,
    Name: name,
    Secret: masked,
    Status: status,
    Verified: when(verified_at),
    ...(base_url !== undefined && { Address: base_url }),
    ...(region !== undefined && { Region: region }),
    ...(models !== undefined && { Models: Object.keys(models).join(', ') }),
  })
