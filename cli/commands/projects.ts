// `switchyard project`: works on the store itself, with or without a server beside it.
import type { Command } from 'commander'
import type { CreatedProject } from '../../src/operate.ts'
import { type Printing, print, withExample } from '../command-line.ts'
import { configuration, operate } from '../on-demand.ts'
import { card, when } from '../table.ts'

interface Creation extends Printing {
  name: string
  ownerEmail: string
  verified?: boolean
}

export function addProject(program: Command): void {
  const project = program.command('project').description('projects, straight in the store that the settings name')
  const creation = project
    .command('create')
    .description('create a project, its owner and its admin key, which is printed once')
    .requiredOption('--name <text>', 'what people call it')
    .requiredOption('--owner-email <address>', 'whom it belongs to')
    .option('--verified', 'the address is known to be the owner’s; without it the project cannot create keys')
    .option('--json', 'print JSON: project, owner, api_key, and the raw key in key')
    .action(create)
  withExample(creation, 'switchyard project create --name atlas --owner-email ada@example.com --verified')
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
