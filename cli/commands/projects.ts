// `switchyard project`: created and listed on the store itself, with or without a server beside it; its cap is set over
// HTTP.
import { Argument, type Command, Option } from 'commander'
import type { CreatedProject } from '../../src/operate/operate.ts'
import { type Printing, print, service, usdAmount, withExample, withJson } from '../command-line.ts'
import { configuration, operate, operateProjects } from '../on-demand.ts'
import { card, dollars, table, when } from '../table.ts'

interface Creation extends Printing {
  name: string
  ownerEmail: string
  verified?: boolean
}

export function addProject(program: Command): void {
  const project = program
    .command('project')
    .description('create and list projects in the store that the settings name; cap the spending of one')
  const creation = addCreation(project)
  withExample(creation, 'switchyard project create --name atlas --owner-email ada@example.com --verified')

  const listing = project
    .command('list')
    .description('list all projects of the store, oldest first')
    .option('--json', 'print JSON: a list in data')
    .action(list)
  withExample(listing, 'switchyard project list', "switchyard project list --json | jq -r '.data[].id'")

  const capping = withJson(project.command('cap'))
    .description('set or clear the spending cap of the project that SWITCHYARD_KEY belongs to')
    .option('--usd <amount>', 'cap in US dollars over all keys; 0 blocks every generation', usdAmount)
    .addOption(new Option('--clear', 'no cap').conflicts('usd'))
    .option('--overage', 'calls go on above the cap, and what is above it is counted')
    .option('--no-overage', 'the cap is hard')
    .action(cap)
  withExample(
    capping,
    'switchyard project cap --usd 500',
    'switchyard project cap --usd 500 --overage',
    'switchyard project cap --clear',
  )

  const ruling = withJson(project.command('second-factor'))
    .description('whether people who sign in with a password need a second factor for the project of SWITCHYARD_KEY')
    .addArgument(new Argument('<rule>').choices(['required', 'optional']))
    .action(rule)
  withExample(ruling, 'switchyard project second-factor required')
}

/** Also `switchyard operator project create`. */
export const addCreation = (parent: Command): Command =>
  parent
    .command('create')
    .description('create a project, its owner and its admin key, which is printed once')
    .requiredOption('--name <text>', 'what people call it')
    .requiredOption('--owner-email <address>', 'whom it belongs to')
    .option('--verified', 'the address is known to be the owner’s; without it the project cannot create keys')
    .option('--json', 'print JSON: project, owner, api_key, and the raw key in key')
    .action(create)

async function list({ json }: Printing): Promise<void> {
  const { readConfig } = await configuration()
  const { listProjects } = await operateProjects()
  const data = await listProjects(readConfig())
  if (json) return print(JSON.stringify({ object: 'list', data, has_more: false }))
  const rows = data.map((one) => [
    one.id,
    one.name,
    one.owner_email,
    String(one.keys),
    dollars(one.spent_micros),
    one.cap_micros === null ? '-' : dollars(one.cap_micros),
    when(one.created_at),
  ])
  print(table(['ID', 'NAME', 'OWNER', 'KEYS', 'SPENT', 'CAP', 'CREATED'], rows))
}

interface Spending {
  id: string
  name: string
  cap_micros?: number
  overage_enabled: boolean
  spent_micros: number
}

type Capping = Printing & { usd?: number; clear?: true; overage?: boolean }

/** What is not given stays as it is. */
async function cap({ usd, clear, overage, json }: Capping, command: Command): Promise<void> {
  if (usd === undefined && !clear && overage === undefined)
    command.error('give --usd with an amount, --clear, --overage or --no-overage')
  const { body, text } = await service().post<Spending>('/v2/project/cap', {
    ...((usd !== undefined || clear) && { limit_usd: usd ?? null }),
    ...(overage !== undefined && { overage_enabled: overage }),
  })
  const { id, name, spent_micros, cap_micros, overage_enabled } = body
  const fields = {
    Project: id,
    Name: name,
    Spent: dollars(spent_micros),
    Cap: cap_micros === undefined ? '-' : dollars(cap_micros),
    Overage: overage_enabled ? 'calls go on above the cap' : 'none: the cap is hard',
  }
  print(json ? text : card(fields))
}

async function rule(how: 'required' | 'optional', { json }: Printing): Promise<void> {
  const wish = { required: how === 'required' }
  const { body, text } = await service().post<{ name: string }>('/v2/project/second-factor', wish)
  print(json ? text : `${body.name}: a second step is ${how}.`)
}

async function create({ name, ownerEmail, verified = false, json }: Creation): Promise<void> {
  const { readConfig } = await configuration()
  const { createProject } = await operate()
  const created = await createProject(readConfig(), { name, owner_email: ownerEmail, verified })
  print(json ? JSON.stringify(created) : forPeople(created))
}

function forPeople({ project, owner, api_key, key }: CreatedProject): string {
  const fields = {
    Project: project.id,
    Name: project.name,
    Owner: `${owner.email} (${owner.verified_at ? 'verified' : 'not verified: the project cannot create keys'})`,
    Created: when(project.created_at),
    'Key id': api_key.id,
  }
  return `${card(fields)}\nAdmin key, shown once; store it now:\n\n  ${key}\n`
}
