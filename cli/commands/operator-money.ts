// `switchyard operator subscription` and `switchyard operator usage` (R79).
import { type Command, Option } from 'commander'
import type { Subscription } from '../../src/subscriptions/subscription.ts'
import type { ProjectUsage } from '../../src/usage/operator-usage.ts'
import { idOf, type Printing, print, wholeNumber, withExample } from '../command-line.ts'
import { configuration, operatePlane } from '../on-demand.ts'
import { table, when } from '../table.ts'
import { amountsOf, GROUPS, groupsIn, groupsShown, HEADINGS, timeIn } from './usage.ts'

const PROJECT = ['<project>', 'its id or its name'] as const

export function addSubscriptions(operator: Command): void {
  const subscription = operator
    .command('subscription')
    .description('give a project an allowance of tokens with a discount on input, list them, end one')
  const listing = subscription
    .command('list')
    .description('list the subscriptions of a project, newest first')
    .argument(...PROJECT)
    .option('--json', 'print JSON: a list in data')
    .action(list)
  withExample(listing, 'switchyard operator subscription list atlas')
  const creation = subscription
    .command('create')
    .description('add a subscription to a project')
    .argument(...PROJECT)
    .requiredOption('--plan <name>', 'what the plan is called')
    .requiredOption('--provider <id>', 'the provider that it is for')
    .requiredOption('--discount <percent>', 'off the input price, 0 to 100', wholeNumber)
    .requiredOption('--allowance <tokens>', 'how many tokens the period includes', wholeNumber)
    .option('--from <time>', 'default: now', timeIn)
    .option('--to <time>', 'default: a month after its start', timeIn)
    .option('--overage', 'calls go on beyond the allowance, at the list price')
    .option('--json', 'print JSON')
    .action(create)
  withExample(
    creation,
    'switchyard operator subscription create atlas --plan pro --provider openai --discount 20 --allowance 1000000',
  )
  const ending = subscription
    .command('cancel')
    .description('end a subscription at once')
    .argument(...PROJECT)
    .argument('<subscription>', 'its id', idOf('sub'))
    .option('--json', 'print JSON')
    .action(cancel)
  withExample(ending, 'switchyard operator subscription cancel atlas sub_1b2c3d4e5f6g7h8i9j0k')
}

/** The store that the settings of the server name. */
export async function settings() {
  const { readConfig } = await configuration()
  return readConfig()
}

interface Creation extends Printing {
  plan: string
  provider: string
  discount: number
  allowance: number
  from?: string
  to?: string
  overage?: boolean
}

async function create(project: string, { json, from, to, overage = false, ...asked }: Creation): Promise<void> {
  const { addSubscription } = await operatePlane()
  const made = await addSubscription(await settings(), project, {
    plan: asked.plan,
    provider: asked.provider,
    input_discount_pct: asked.discount,
    allowance_tokens: asked.allowance,
    overage_enabled: overage,
    ...(from !== undefined && { period_start: from }),
    ...(to !== undefined && { period_end: to }),
  })
  print(json ? JSON.stringify(made) : tableOf([made]))
}

async function list(project: string, { json }: Printing): Promise<void> {
  const { subscriptions } = await operatePlane()
  const data = await subscriptions(await settings(), project)
  print(json ? JSON.stringify({ object: 'list', data, has_more: false }) : tableOf(data))
}

async function cancel(project: string, id: string, { json }: Printing): Promise<void> {
  const { cancelSubscription } = await operatePlane()
  const ended = await cancelSubscription(await settings(), project, id)
  print(json ? JSON.stringify(ended) : tableOf([ended]))
}

const tableOf = (data: readonly Subscription[]) =>
  table(
    ['ID', 'PLAN', 'PROVIDER', 'STATUS', 'DISCOUNT %', 'ALLOWANCE', 'USED', 'OVERAGE', 'UNTIL'],
    data.map((one) => [
      one.id,
      one.plan,
      one.provider,
      one.status,
      String(one.input_discount_pct),
      String(one.allowance_tokens),
      String(one.used_tokens),
      one.overage_enabled ? 'yes' : 'no',
      when(one.period_end),
    ]),
  )

interface Asked extends Printing {
  from?: string
  to?: string
  project?: string
  model?: string
  provider?: string
  profile?: string
  groupBy?: string
}

export function addUsageOfAll(operator: Command): void {
  const usage = operator
    .command('usage')
    .description('what all projects used and cost, added up by project')
    .option('--from <time>', 'from this time on, such as 2026-11-01', timeIn)
    .option('--to <time>', 'before this time', timeIn)
    .option('--project <id or name>', 'only this project')
    .option('--model <name>', 'only generations that resolved to this model')
    .option('--provider <id>', 'only this provider')
    .option('--profile <name>', 'only this execution profile')
    .option(
      '--group-by <fields>',
      `also by one or more of ${GROUPS.join(', ')}, tag:<name>, with commas between them`,
      groupsIn,
    )
    .addOption(new Option('--json', 'print JSON: a list in data'))
    .action(showUsage)
  withExample(
    usage,
    'switchyard operator usage --from 2026-11-01',
    'switchyard operator usage --project atlas --group-by model',
  )
}

async function showUsage({ json, project, groupBy, ...filters }: Asked): Promise<void> {
  const plane = await operatePlane()
  const query = { ...filters, project_id: project, group_by: groupBy }
  const given = Object.fromEntries(Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined))
  const data = await plane.usage(await settings(), given)
  if (json) return print(JSON.stringify({ object: 'list', data, has_more: false }))
  print(usageTable(groupBy, data))
}

function usageTable(groupBy: string | undefined, data: readonly ProjectUsage[]): string {
  const groups = groupsShown(groupBy ?? '')
  return table(
    ['PROJECT', 'NAME', ...groups.map((group) => HEADINGS[group]), 'REQUESTS', 'INPUT', 'OUTPUT', 'CHARGED'],
    data.map((row) => [
      row.project_id,
      row.project_name,
      ...groups.map((group) => row[group] ?? '-'),
      String(row.events),
      ...amountsOf({ ...row, object: 'usage_group' }),
    ]),
  )
}
