// `switchyard bundle`: §4.14 over HTTP. An item is typed as ROLE=ARTIFACT.
import { type Command, InvalidArgumentError } from 'commander'
import type { Bundle, NewBundle } from '../../src/bundles/bundle.ts'
import type { BundleWarmth } from '../../src/bundles/warmth.ts'
import type { BundleWarmed } from '../../src/generations/warmed.ts'
import { idOf, type Printing, print, service, usdAmount, withExample, withJson } from '../command-line.ts'
import { card, dollars, table, when } from '../table.ts'

type Item = NewBundle['items'][number]

const ID = 'begins bnd_'

export function addBundle(program: Command): void {
  const bundle = program.command('bundle').description('prefixes that prompts share, made of artifacts')

  const creating = withJson(bundle.command('create'))
    .description('create a bundle; one with the same contents as another is that other')
    .requiredOption('--item <role=artifact...>', 'system, developer or user, and an artifact, in their order', itemIn)
    .option('--tools <artifact>', 'an artifact of kind tools', idOf('art'))
    .option('--name <name>', 'what people call it')
    .action(create)
  withExample(
    creating,
    'switchyard bundle create --item system=art_1b2c3d4e5f6g7h8i9j0k user=art_2c3d4e5f6g7h8i9j0k1l',
    'switchyard bundle create --name agent --item system=art_1b2c3d4e5f6g7h8i9j0k --tools art_3d4e5f6g7h8i9j0k1l2m',
  )

  const listing = withJson(bundle.command('list')).description('list bundles, newest first').action(list)
  withExample(listing, 'switchyard bundle list')

  const showing = withJson(bundle.command('show'))
    .description('show a bundle, and what was observed of it where it was sent')
    .argument('<bundle>', ID, idOf('bnd'))
    .action(show)
  withExample(showing, 'switchyard bundle show bnd_1b2c3d4e5f6g7h8i9j0k')

  const warming = withJson(bundle.command('warm'))
    .description('send a bundle to each target of a model once, so that it is cached there: real calls, which cost')
    .argument('<bundle>', ID, idOf('bnd'))
    .requiredOption('--model <model>', 'a model or an alias')
    .option('--cluster <cluster...>', 'only these clusters')
    .option('--max-usd <usd>', 'what all calls together may cost at the most', usdAmount)
    .action(warm)
  withExample(warming, 'switchyard bundle warm bnd_1b2c3d4e5f6g7h8i9j0k --model gpt-4o-mini --max-usd 0.05')

  const deleting = withJson(bundle.command('delete'))
    .description('delete a bundle; calls that name it are refused from then on')
    .argument('<bundle>', ID, idOf('bnd'))
    .action(remove)
  withExample(deleting, 'switchyard bundle delete bnd_1b2c3d4e5f6g7h8i9j0k')
}

function itemIn(text: string, before: Item[] = []): Item[] {
  const [, role, artifact_id = ''] = /^(system|developer|user)=(art_\w+)$/.exec(text) ?? []
  if (!role) throw new InvalidArgumentError('It must have the form system=art_1b2c3d4e5f6g7h8i9j0k.')
  return [...before, { role: role as Item['role'], artifact_id }]
}

type Creating = Printing & { item: Item[]; tools?: string; name?: string }

async function create({ item, tools, name, json }: Creating): Promise<void> {
  const asked = { items: item, ...(tools && { tools_artifact_id: tools }), ...(name !== undefined && { name }) }
  const { body, text } = await service().post<Bundle>('/v2/bundles', asked)
  print(json ? text : describe(body))
}

async function list({ json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: Bundle[] }>('/v2/bundles')
  if (json) return print(text)
  const rows = body.data.map(({ id, name, items, tokens_est, prefix_hash, created_at }) => [
    ...[id, name ?? '-', String(items.length), String(tokens_est), prefix_hash.slice(0, 12), when(created_at)],
  ])
  print(table(['ID', 'NAME', 'ITEMS', 'TOKENS', 'HASH', 'CREATED'], rows))
}

async function show(id: string, { json }: Printing): Promise<void> {
  const client = service()
  const { body, text } = await client.get<Bundle>(`/v2/bundles/${id}`)
  if (json) return print(text)
  const warmth = (await client.get<BundleWarmth>(`/v2/bundles/${id}/warmth`)).body
  print(`${describe(body)}\n\n${described(warmth)}`)
}

type Warming = Printing & { model: string; cluster?: string[]; maxUsd?: number }

async function warm(id: string, { model, cluster, maxUsd, json }: Warming): Promise<void> {
  const asked = {
    model,
    ...(cluster && { cluster_ids: cluster }),
    ...(maxUsd !== undefined && { max_cost_usd: maxUsd }),
  }
  const { body, text } = await service().postLong<BundleWarmed>(`/v2/bundles/${id}/warm`, asked)
  if (json) return print(text)
  const rows = body.targets.map((one) => [
    ...[one.target, one.model, one.status, String(one.cached_tokens), String(one.written_tokens)],
    ...[dollars(one.charged_micros), one.reason ?? ''],
  ])
  print(table(['TARGET', 'MODEL', 'STATUS', 'CACHED', 'WRITTEN', 'CHARGED', 'REASON'], rows))
}

async function remove(id: string, { json }: Printing): Promise<void> {
  const { text } = await service().delete(`/v2/bundles/${id}`)
  print(json ? text : `Deleted ${id}.`)
}

const describe = (one: Bundle) =>
  card({
    Bundle: one.id,
    Name: one.name ?? '-',
    Items: one.items.map(({ role, artifact_id }) => `${role}=${artifact_id}`).join(' '),
    Tools: one.tools_artifact_id ?? '-',
    Hash: one.prefix_hash,
    Tokens: `about ${one.tokens_est}`,
    Created: when(one.created_at),
  })

const described = ({ targets }: BundleWarmth) =>
  targets.length === 0
    ? 'It was not sent anywhere yet.'
    : table(
        ['TARGET', 'MODEL', 'CALLS', 'LAST USED', 'CACHED THEN'],
        targets.map((one) => [
          ...[one.target, one.model, String(one.calls), when(one.last_used_at)],
          `${one.last_cached_tokens} of ${one.last_input_tokens}`,
        ]),
      )
