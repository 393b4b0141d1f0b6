// `switchyard operator`: what belongs to whoever runs the service (R79). On the store itself, with or without a server
// beside it.
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { OperatorProject } from '../../src/accounts/operator-project.ts'
import type { ProjectQuotas } from '../../src/limits/operator-quota.ts'
import type { QuotaChanges, Setting } from '../../src/operate/operate-plane.ts'
import { type Printing, print, usdAmount, wholeNumber, withExample } from '../command-line.ts'
import { operatePlane } from '../on-demand.ts'
import { card, dollars, table, when } from '../table.ts'
import { addSubscriptions, addUsageOfAll, settings } from './operator-money.ts'
import { addCreation } from './projects.ts'

const PROJECT = ['<project>', 'its id or its name'] as const
const AS_JSON = ['--json', 'print JSON'] as const

export function addOperator(program: Command): void {
  const operator = program
    .command('operator')
    .description(
      'all projects of the store that the settings name: their caps, shares, quotas, subscriptions and usage',
    )
  const project = operator.command('project').description('create, list, limit, suspend and resume projects')
  addProjects(project)
  addBounds(project)
  addSubscriptions(operator)
  addUsageOfAll(operator)
}

function addProjects(project: Command): void {
  const listing = project
    .command('list')
    .description('list all projects, oldest first')
    .option('--json', 'print JSON: a list in data')
    .action(list)
  withExample(listing, 'switchyard operator project list')
  withExample(
    addCreation(project),
    'switchyard operator project create --name atlas --owner-email ada@example.com --verified',
  )
  const showing = project
    .command('show')
    .description('show one project')
    .argument(...PROJECT)
    .option(...AS_JSON)
    .action(async (name: string, { json }: Printing) => {
      const { show } = await operatePlane()
      tell(await show(await settings(), name), json)
    })
  withExample(showing, 'switchyard operator project show atlas')
  for (const kind of ['suspend', 'resume'] as const) {
    const what = kind === 'suspend' ? 'serve a project nothing; an admin can still read its usage' : 'serve it again'
    const command = project
      .command(kind)
      .description(what)
      .argument(...PROJECT)
      .option(...AS_JSON)
      .action((name: string, { json }: Printing) => change(name, { kind }, json))
    withExample(command, `switchyard operator project ${kind} atlas`)
  }
}

function addBounds(project: Command): void {
  const capping = project
    .command('cap')
    .description('set or clear the operator’s cap, which stands beside the project’s own: the lower binds')
    .argument(...PROJECT)
    .option('--usd <amount>', 'over all that it ever spends; 0 blocks every generation', usdAmount)
    .addOption(new Option('--clear', 'no such cap').conflicts('usd'))
    .option(...AS_JSON)
    .action((name: string, { usd, clear, json }: Printing & { usd?: number; clear?: true }, command: Command) => {
      if (usd === undefined && !clear) command.error('give --usd with an amount, or --clear')
      return change(name, { kind: 'cap', limit_usd: usd ?? null }, json)
    })
  withExample(
    capping,
    'switchyard operator project cap atlas --usd 500',
    'switchyard operator project cap atlas --clear',
  )
  const sharing = project
    .command('share')
    .description('set the weight of a project where several compete for the slots of a provider')
    .argument(...PROJECT)
    .argument('<share>', '1 to 1000', wholeNumber)
    .option(...AS_JSON)
    .action((name: string, share: number, { json }: Printing) => change(name, { kind: 'share', share }, json))
  withExample(sharing, 'switchyard operator project share atlas 3')
  const quota = project
    .command('quota')
    .description('show or set the quotas of a project, such as its number of keys')
    .argument(...PROJECT)
    .option('--set <kind=count...>', 'such as sessions=500; sessions=default gives it what every project has', kinds)
    .option(...AS_JSON)
    .action(quotas)
  withExample(
    quota,
    'switchyard operator project quota atlas',
    'switchyard operator project quota atlas --set sessions=500 keys=default',
  )
}

async function list({ json }: Printing): Promise<void> {
  const { listAll } = await operatePlane()
  const data = await listAll(await settings())
  if (json) return print(JSON.stringify({ object: 'list', data, has_more: false }))
  const headings = ['ID', 'NAME', 'STATUS', 'OWNER', 'SPENT', 'OPERATOR CAP', 'OWN CAP', 'SHARE', 'CREATED']
  const rows = data.map((one) => [
    one.id,
    one.name,
    one.status,
    one.owner_email,
    dollars(one.spent_micros),
    amount(one.operator_cap_micros),
    amount(one.cap_micros),
    String(one.share),
    when(one.created_at),
  ])
  print(table(headings, rows))
}

async function change(name: string, setting: Setting, json: boolean | undefined): Promise<void> {
  const { set } = await operatePlane()
  tell(await set(await settings(), name, setting), json)
}

const amount = (micros: number | undefined) => (micros === undefined ? '-' : dollars(micros))

function tell(project: OperatorProject, json: boolean | undefined): void {
  const fields = {
    Project: project.id,
    Name: project.name,
    Status: project.status === 'suspended' ? `suspended since ${when(project.suspended_at)}` : 'active',
    Owner: `${project.owner_email} (${project.owner_verified ? 'verified' : 'not verified'})`,
    Spent: dollars(project.spent_micros),
    Held: dollars(project.held_micros),
    'Operator cap': amount(project.operator_cap_micros),
    'Own cap': `${amount(project.cap_micros)}${project.overage_enabled ? ' (overage)' : ''}`,
    Share: String(project.share),
    Created: when(project.created_at),
  }
  print(json ? JSON.stringify(project) : card(fields))
}

/** Several of them, each given once. */
function kinds(text: string, before: QuotaChanges = {}): QuotaChanges {
  const [, kind = '', count = ''] = /^([a-z_]+)=(\d{1,9}|default)$/.exec(text) ?? []
  if (!kind) throw new InvalidArgumentError('It must be such as sessions=500 or sessions=default.')
  return { ...before, [kind]: count === 'default' ? null : Number(count) }
}

async function quotas(name: string, { set, json }: Printing & { set?: QuotaChanges }): Promise<void> {
  const plane = await operatePlane()
  const config = await settings()
  const now = set ? await plane.setQuotas(config, name, set) : await plane.quotas(config, name)
  print(json ? JSON.stringify(now) : quotaTable(now))
}

const quotaTable = ({ effective, ...own }: ProjectQuotas) =>
  table(
    ['KIND', 'AT MOST', 'SET FOR IT'],
    Object.entries(effective).map(([kind, most]) => [
      kind,
      String(most),
      own[kind as keyof typeof effective] === null ? '-' : 'yes',
    ]),
  )
