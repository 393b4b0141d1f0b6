// `switchyard limits`: §8.1 over HTTP. What holds for every key and project comes from switchyard.yaml.
import { type Command, Option } from 'commander'
import type { ApiKeyLimits } from '../../src/limits/key-limits.ts'
import type { GatewayView } from '../../src/routing/gateway-routes.ts'
import { idOf, type Printing, print, service, wholeNumber, withExample, withJson } from '../command-line.ts'
import { card, table } from '../table.ts'

export function addLimits(program: Command): void {
  const limits = program.command('limits').description('rate limits of the project that SWITCHYARD_KEY belongs to')

  const showing = withJson(limits.command('show'))
    .description('show what a key may do, or what holds for every address, key and project')
    .argument('[key]', 'begins key_', idOf('key'))
    .action(show)
  withExample(showing, 'switchyard limits show', 'switchyard limits show key_1b2c3d4e5f6g7h8i9j0k')

  const setting = withJson(limits.command('set'))
    .description('set the rate limits of one key; what is not given stays as it is')
    .argument('<key>', 'begins key_', idOf('key'))
    .option('--requests <count>', 'requests in a minute', wholeNumber)
    .option('--tokens <count>', 'tokens in a minute', wholeNumber)
    .option('--streams <count>', 'streams that may be open at once', wholeNumber)
    .option('--parallel <count>', 'generations that may run at once', wholeNumber)
    .option('--model-rate <rate...>', 'of single models: gpt-4o*=60:100000 is 60 requests and 100000 tokens a minute')
    .addOption(new Option('--no-model-rates', 'as every key').conflicts('modelRate'))
    .addOption(
      new Option('--clear', 'what holds for every key').conflicts(['requests', 'tokens', 'streams', 'parallel']),
    )
    .action(set)
  withExample(
    setting,
    'switchyard limits set key_1b2c3d4e5f6g7h8i9j0k --requests 600 --tokens 100000',
    'switchyard limits set key_1b2c3d4e5f6g7h8i9j0k --clear',
  )
}

async function show(key: string | undefined, { json }: Printing): Promise<void> {
  if (key !== undefined) {
    const { body, text } = await service().get<ApiKeyLimits>(`/v2/api-keys/${key}/limits`)
    return print(json ? text : describe(body))
  }
  const { body } = await service().get<GatewayView>('/v2/gateway')
  if (json) return print(JSON.stringify(body.limits))
  const { edge, key: ofKey, project, shadow } = body.limits
  const rows = Object.entries({ 'each address': edge, 'each key': ofKey, 'each project': project }).flatMap(
    ([whom, counts]) => Object.entries(counts).map(([what, count]) => [whom, what.replaceAll('_', ' '), String(count)]),
  )
  print(table(['OF', 'LIMIT', 'AT MOST'], rows))
  if (shadow.length > 0) print(`Counted and never refused: ${shadow.join(', ')}.`)
}

type Setting = Printing & { requests?: number; tokens?: number; streams?: number; parallel?: number; clear?: true } & {
  modelRate?: string[]
  modelRates?: boolean
}

async function set(key: string, asked: Setting, command: Command): Promise<void> {
  const { requests, tokens, streams, parallel, modelRate, modelRates, clear, json } = asked
  const changes = {
    ...((clear || requests !== undefined) && { requests_per_minute: requests ?? null }),
    ...((clear || tokens !== undefined) && { tokens_per_minute: tokens ?? null }),
    ...((clear || streams !== undefined) && { concurrent_streams: streams ?? null }),
    ...((clear || parallel !== undefined) && { max_parallel_requests: parallel ?? null }),
    ...((clear || modelRates === false) && { models: null }),
    ...(modelRate && { models: modelRate.map((text) => rateIn(text) ?? command.error(`'${text}' is no rate`)) }),
  }
  if (Object.keys(changes).length === 0)
    command.error('give --requests, --tokens, --streams, --parallel or --model-rate, or --clear')
  const { body, text } = await service().post<ApiKeyLimits>(`/v2/api-keys/${key}/limits`, changes)
  print(json ? text : describe(body))
}

function describe({ key_id, effective, ...own }: ApiKeyLimits): string {
  const line = (name: 'requests_per_minute' | 'tokens_per_minute' | 'concurrent_streams') =>
    `${effective[name]}${own[name] === null ? ' (as every key)' : ''}`
  return card({
    Key: key_id,
    'Requests a minute': line('requests_per_minute'),
    'Tokens a minute': line('tokens_per_minute'),
    'Streams at once': line('concurrent_streams'),
    'Generations at once': own.max_parallel_requests === null ? 'no limit' : String(own.max_parallel_requests),
    ...(own.models && { Models: own.models.map(rateText).join(', ') }),
  })
}

type Rate = NonNullable<ApiKeyLimits['models']>[number]

/** `gpt-4o*=60:100000`, `gpt-4o=60` or `gpt-4o=:100000`. */
function rateIn(text: string): Rate | undefined {
  const [, model, requests, tokens] = /^(.+)=(\d*)(?::(\d+))?$/.exec(text) ?? []
  if (model === undefined || !(requests || tokens)) return undefined
  return {
    model,
    ...(requests && { requests_per_minute: Number(requests) }),
    ...(tokens && { tokens_per_minute: Number(tokens) }),
  }
}

const rateText = ({ model, requests_per_minute: requests, tokens_per_minute: tokens }: Rate) =>
  `${model}=${requests ?? ''}${tokens === undefined ? '' : `:${tokens}`}`
