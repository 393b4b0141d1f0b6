// `switchyard provider`: the providers of the gateway, over HTTP, for whoever runs the service. A secret is never an
// argument, which everybody on the machine can see in the list of processes.
import { readFileSync } from 'node:fs'
import { text as textOf } from 'node:stream/consumers'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { OperatorProvider, ProviderVersion } from '../../src/providers/operator-provider.ts'
import type { ProviderTest } from '../../src/providers/provider-test.ts'
import { existingFile, type Printing, print, service, wholeNumber, withExample, withJson } from '../command-line.ts'
import { EXIT, Failure } from '../failure.ts'
import { card, table, when } from '../table.ts'

const PATH = '/v2/operator/providers'
const ID = ['<id>', 'as Agent-Resolved-Provider says it', idIn] as const

export function addProvider(program: Command): void {
  const provider = program
    .command('provider')
    .description('providers of the gateway, for whoever runs the service; those of switchyard.yaml can only be read')
  addReading(provider)
  addEntering(provider)
  addTurning(provider)
  addVersions(provider)
}

function addReading(provider: Command): void {
  withExample(
    withJson(provider.command('list')).description('list providers, in the order of preference').action(list),
    'switchyard provider list',
  )
  const showing = withJson(provider.command('show').argument(...ID))
    .description('show a provider with its models; secrets are never shown')
    .action(async (id: string, { json }: Printing) => tell(await service().get(`${PATH}/${id}`), json))
  withExample(showing, 'switchyard provider show spare')
  const testing = withJson(provider.command('test').argument(...ID))
    .description('ask a provider for its models; exit code 1 where it cannot be used')
    .action(test)
  withExample(testing, 'switchyard provider test spare')
}

const entering = (command: Command) =>
  withJson(command)
    .option('--file <path>', 'a JSON file with the fields of an entry of `providers` in switchyard.yaml', existingFile)
    .option('--protocol <name>', 'openai, anthropic, azure, bedrock or vertex')
    .option('--base-url <url>', 'paths like /chat/completions go below it')
    .option('--region <name>', 'what regional policy knows it by')
    .option('--max-concurrency <count>', 'calls at once', wholeNumber)
    .option('--secret-env <name>', 'the environment variable that holds its api_key')
    .option('--secret-stdin', 'read its api_key from standard input')

function addEntering(provider: Command): void {
  const adding = entering(provider.command('add'))
    .description('add a provider; every server dials it within a second')
    .option('--id <id>', 'its name', idIn)
    .option('--model <id...>', 'models of the price book that it serves')
    .action(add)
  withExample(
    adding,
    'OPENAI_API_KEY=sk-… switchyard provider add --id spare --base-url https://api.openai.com/v1 ' +
      '--secret-env OPENAI_API_KEY --model gpt-4o-mini',
    'switchyard provider add --file provider.json',
  )
  const changing = entering(provider.command('change').argument(...ID))
    .description('change a provider; refused where somebody else has changed it since')
    .addOption(
      new Option('--version-seen <n>', 'the version it was read as; default: the present one').argParser(whole),
    )
    .option(
      '--set-model <json...>',
      'add or replace a model, as in the file: \'{"id":"m","input_usd_per_million":1,…}\'',
    )
    .option('--remove-model <id...>', 'take models out')
    .action(change)
  withExample(
    changing,
    'switchyard provider change spare --max-concurrency 50',
    'switchyard provider change spare --set-model \'{"id":"gpt-4o"}\' --remove-model gpt-4o-mini',
  )
}

function addTurning(provider: Command): void {
  const turns = [
    ['drain', 'let a provider take no new calls; those under way end'],
    ['resume', 'let a drained provider take calls again'],
  ] as const
  for (const [name, description] of turns) {
    const command = withJson(provider.command(name).argument(...ID))
      .description(description)
      .action(async (id: string, { json }: Printing) => tell(await service().post(`${PATH}/${id}/${name}`, {}), json))
    withExample(command, `switchyard provider ${name} spare`)
  }
  const removing = withJson(provider.command('remove').argument(...ID))
    .description('remove a provider with its secrets; calls under way end')
    .option('--force', 'although aliases of projects name it, or it is the last one')
    .action(async (id: string, { json, force }: Printing & { force?: true }) => {
      const { text } = await service().delete(`${PATH}/${id}${force ? '?force=true' : ''}`)
      print(json ? text : `The provider ${id} is removed.`)
    })
  withExample(removing, 'switchyard provider remove spare', 'switchyard provider remove spare --force')
}

function addVersions(provider: Command): void {
  const listing = withJson(provider.command('versions').argument(...ID))
    .description('list the versions of a provider, newest first: what was changed, by whom and when')
    .action(versions)
  withExample(listing, 'switchyard provider versions spare')
  const restoring = withJson(provider.command('restore').argument(...ID))
    .description('return the settings of a provider to a version; its secrets stay as they are')
    .argument('<version>', 'a number of `switchyard provider versions`', whole)
    .action(async (id: string, to_version: number, { json }: Printing) => {
      const version = await versionOf(id)
      tell(await service().post(`${PATH}/${id}/restore`, { version, to_version }), json)
    })
  withExample(restoring, 'switchyard provider restore spare 3')
}

/** Ids go into addresses. */
function idIn(text: string): string {
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(text))
    throw new InvalidArgumentError('It must be made of lower case letters, digits, ., _ and -.')
  return text
}

function whole(text: string): number {
  const value = wholeNumber(text)
  if (value < 1) throw new InvalidArgumentError('It must be at least 1.')
  return value
}

interface Entering extends Printing {
  file?: string
  protocol?: string
  baseUrl?: string
  region?: string
  maxConcurrency?: number
  secretEnv?: string
  secretStdin?: true
}

async function fieldsOf(options: Entering): Promise<Record<string, unknown>> {
  const { file, protocol, baseUrl, region, maxConcurrency } = options
  const api_key = await secretIn(options)
  return {
    ...(file !== undefined && jsonIn(file, readFileSync(file, 'utf8'))),
    ...(protocol !== undefined && { protocol }),
    ...(baseUrl !== undefined && { base_url: baseUrl }),
    ...(region !== undefined && { region }),
    ...(maxConcurrency !== undefined && { max_concurrency: maxConcurrency }),
    ...(api_key !== undefined && { api_key }),
  }
}

async function secretIn({ secretEnv, secretStdin }: Entering): Promise<string | undefined> {
  if (secretEnv !== undefined) {
    const secret = process.env[secretEnv]?.trim()
    if (!secret) throw new Failure(EXIT.usage, `The variable ${secretEnv} is not set.`)
    return secret
  }
  if (!secretStdin) return undefined
  const secret = (await textOf(process.stdin)).trim()
  if (secret === '') throw new Failure(EXIT.usage, 'Standard input holds no secret.')
  return secret
}

function jsonIn(where: string, text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    throw new Failure(EXIT.usage, `${where} is not JSON.`)
  }
}

async function add(options: Entering & { id?: string; model?: string[] }): Promise<void> {
  const client = service() // before anything is read: a bad setting is told at once
  const { id, model, json } = options
  const body = {
    ...(await fieldsOf(options)),
    ...(id !== undefined && { id }),
    ...(model && { models: model.map((one) => ({ id: one })) }),
  }
  tell(await client.post<OperatorProvider>(PATH, body), json)
}

interface Changing extends Entering {
  versionSeen?: number
  setModel?: string[]
  removeModel?: string[]
}

async function change(id: string, options: Changing, command: Command): Promise<void> {
  const { setModel, removeModel, json } = options
  const fields = await fieldsOf(options)
  if (Object.keys(fields).length === 0 && !setModel && !removeModel)
    command.error('say what to change, such as --max-concurrency 50')
  const version = options.versionSeen ?? (await versionOf(id))
  let answer: Answer | undefined
  if (Object.keys(fields).length > 0) answer = await service().patch(`${PATH}/${id}`, { ...fields, version })
  if (setModel || removeModel)
    answer = await service().post(`${PATH}/${id}/models`, {
      version: answer?.body.version ?? version,
      set: (setModel ?? []).map((text) => jsonIn('--set-model', text)),
      remove: removeModel ?? [],
    })
  if (answer) tell(answer, json)
}

type Answer = { body: OperatorProvider; text: string }

async function versionOf(id: string): Promise<number | undefined> {
  return (await service().get<OperatorProvider>(`${PATH}/${id}`)).body.version
}

async function list({ json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: OperatorProvider[] }>(PATH)
  if (json) return print(text)
  const rows = body.data.map(({ id, source, status, version, settings, running }) => [
    ...[id, source, status, String(version ?? '-'), settings?.protocol ?? '-', settings?.region ?? '-'],
    ...[String(settings?.models_total ?? '-'), String(running), settings?.base_url ?? '-'],
  ])
  print(table(['ID', 'SOURCE', 'STATUS', 'VERSION', 'PROTOCOL', 'REGION', 'MODELS', 'RUNNING', 'ADDRESS'], rows))
}

/** What a script asks is whether it works, so the exit code says that. */
async function test(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().post<ProviderTest>(`${PATH}/${id}/test`, {})
  print(json ? text : `${body.message} (${body.duration_ms} ms)`)
  if (body.outcome === 'refused' || body.outcome === 'failed')
    throw new Failure(EXIT.failed, `The provider ${id} cannot be used as it is.`)
}

async function versions(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: ProviderVersion[] }>(`${PATH}/${id}/versions`)
  if (json) return print(text)
  const rows = body.data.map((one) => [
    ...[String(one.version), one.change, one.fields.join(', ') || '-', one.actor, when(one.created_at)],
  ])
  print(table(['VERSION', 'CHANGE', 'FIELDS', 'BY', 'AT'], rows))
}

function tell({ body, text }: Answer, json: boolean | undefined): void {
  const { id, source, status, problem, version, settings, secrets, running, updated_at, updated_by } = body
  const models = settings?.models.map((one) => one.id) ?? []
  const more = (settings?.models_total ?? 0) - models.length
  const fields = {
    Provider: id,
    Source: source,
    Status: problem === undefined ? status : `${status}: ${problem}`,
    ...(version !== undefined && { Version: String(version) }),
    ...(settings && {
      Protocol: settings.protocol,
      Address: settings.base_url,
      Region: settings.region,
      'Calls at once': String(settings.max_concurrency),
      Models: `${models.join(', ') || 'none listed'}${more > 0 ? ` and ${more} more` : ''}`,
    }),
    Secrets:
      Object.entries(secrets)
        .map(([name, hint]) => `${name} ${hint}`)
        .join(', ') || 'none',
    Running: String(running),
    ...(updated_at !== undefined && { Changed: `${when(updated_at)} by ${updated_by}` }),
  }
  print(json ? text : card(fields))
}
