// `switchyard alias`: §9.4 over HTTP. A target is typed as WHERE=MODEL, with a weight behind a comma.
import { type Command, InvalidArgumentError } from 'commander'
import type { Alias, AliasRelease, NewAlias } from '../../src/models/alias.ts'
import { idOf, type Printing, print, service, withExample, withJson } from '../command-line.ts'
import { card, table, when } from '../table.ts'
import { addAliasStory } from './alias-story.ts'

type Target = NewAlias['targets'][number]

const TARGET = '<where=model...>' // commander takes several only where a letter stands before the dots
const TARGET_HELP =
  'a provider, or the id of a cluster (byc_) or credential (pcr_), the model there, and perhaps ,weight'

export function addAlias(program: Command): void {
  const alias = program.command('alias').description('aliases of the project that SWITCHYARD_KEY belongs to')

  const listing = withJson(alias.command('list')).description('list aliases with their active releases').action(list)
  withExample(listing, 'switchyard alias list')

  const creating = withJson(alias.command('create'))
    .description('create an alias with its first release')
    .argument('<name>', 'what clients ask for as their model')
    .requiredOption(`--target ${TARGET}`, TARGET_HELP, targetIn)
    .action(create)
  withExample(
    creating,
    'switchyard alias create fast --target openai=gpt-4o-mini',
    'switchyard alias create smart --target openai=gpt-4o,90 byc_1b2c3d4e5f6g7h8i9j0k=llama-3-70b,10',
  )

  const releasing = withJson(alias.command('release'))
    .description('add a release to an alias; requests go there once it is activated')
    .argument('<name>', 'the alias')
    .requiredOption(`--target ${TARGET}`, TARGET_HELP, targetIn)
    .option('--replay-run <run>', 'a completed replay run of one of the targets, as evidence', idOf('rpl'))
    .option('--activate', 'activate it at once')
    .action(release)
  withExample(
    releasing,
    'switchyard alias release fast --target openai=gpt-4o,50 openai=gpt-4o-mini,50',
    'switchyard alias release fast --target openai=gpt-4o --activate',
  )

  const looking = withJson(alias.command('releases'))
    .description('list the releases of an alias, newest first')
    .argument('<name>', 'the alias')
    .action(releases)
  withExample(looking, 'switchyard alias releases fast')

  const activating = withJson(alias.command('activate'))
    .description('point an alias at one of its releases; rolling back is activating an older one')
    .argument('<release>', 'begins alr_', idOf('alr'))
    .action(activate)
  withExample(activating, 'switchyard alias activate alr_1b2c3d4e5f6g7h8i9j0k')

  const deleting = withJson(alias.command('delete'))
    .description('delete an alias; requests that name it are refused from then on')
    .argument('<name>', 'the alias')
    .action(remove)
  withExample(deleting, 'switchyard alias delete fast')
  addAliasStory(alias)
}

function targetIn(text: string, before: Target[] = []): Target[] {
  const [, where = '', model = '', weight] = /^([^=]+)=([^,]+)(?:,(\d{1,4}))?$/.exec(text) ?? []
  if (where === '') throw new InvalidArgumentError('It must have the form openai=gpt-4o or openai=gpt-4o,90.')
  const destination = where.startsWith('byc_')
    ? { cluster_id: where }
    : where.startsWith('pcr_')
      ? { credential_id: where }
      : { provider: where }
  return [...before, { ...destination, model, ...(weight !== undefined && { weight: Number(weight) }) }]
}

const pathOf = (name: string) => `/v2/aliases/${encodeURIComponent(name)}`

async function list({ json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: Alias[] }>('/v2/aliases')
  if (json) return print(text)
  const rows = body.data.map(({ name, current_release_id, updated_at }) => [name, current_release_id, when(updated_at)])
  print(table(['NAME', 'RELEASE', 'UPDATED'], rows))
}

type Targeted = Printing & { target: Target[] }

async function create(name: string, { target, json }: Targeted): Promise<void> {
  const { body, text } = await service().post<Alias>('/v2/aliases', { name, targets: target })
  print(json ? text : describe(body))
}

type Releasing = Targeted & { activate?: true; replayRun?: string }

async function release(name: string, { target, json, activate, replayRun }: Releasing): Promise<void> {
  const client = service()
  const asked = { targets: target, replay_run_id: replayRun }
  const made = await client.post<AliasRelease>(`${pathOf(name)}/releases`, asked)
  if (!activate) return print(json ? made.text : describeRelease(made.body))
  const { body, text } = await client.post<Alias>(`/v2/alias-releases/${made.body.id}/activate`, {})
  print(json ? text : describe(body))
}

async function releases(name: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: AliasRelease[] }>(`${pathOf(name)}/releases`)
  if (json) return print(text)
  const rows = body.data.map((one) => [one.id, String(one.version), targetsOf(one), when(one.created_at)])
  print(table(['RELEASE', 'VERSION', 'TARGETS', 'CREATED'], rows))
}

async function activate(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().post<Alias>(`/v2/alias-releases/${id}/activate`, {})
  print(json ? text : describe(body))
}

async function remove(name: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().delete<{ name: string }>(pathOf(name))
  print(json ? text : `Deleted ${body.name}.`)
}

const targetsOf = ({ targets }: AliasRelease) =>
  targets
    .map(
      ({ provider, cluster_id, credential_id, model, weight }) =>
        `${provider ?? cluster_id ?? credential_id}=${model},${weight}`,
    )
    .join(' ')

const describe = ({ id, name, current_release_id, updated_at }: Alias) =>
  card({ Alias: id, Name: name, Release: current_release_id, Updated: when(updated_at) })

const describeRelease = (release: AliasRelease) =>
  card({
    Release: release.id,
    Alias: release.alias_name,
    Version: String(release.version),
    Targets: targetsOf(release),
    ...(release.evidence && { Evidence: evidenceText(release.evidence) }),
    Created: when(release.created_at),
  })

function evidenceText({ replay_run_id, compared, differences }: NonNullable<AliasRelease['evidence']>): string {
  const found = differences.length === 0 ? 'nothing differs' : `${differences.join(', ')} differ`
  return `${replay_run_id}: ${compared} calls, ${found}`
}
