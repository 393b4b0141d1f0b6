// `switchyard owner-link`: the link by which the first person comes to own a project (0160). On the store itself.
import type { Command } from 'commander'
import type { Config } from '../../src/start/config.ts'
import { type Printing, print, withExample } from '../command-line.ts'
import { configuration, operateProjects } from '../on-demand.ts'
import { visible, when } from '../table.ts'

export function addOwnerLink(program: Command): void {
  const linking = program
    .command('owner-link')
    .description('print a link whose first visitor becomes the owner of a project that nobody can sign in to yet')
    .option('--project <id or name>', 'default: the project of the first start')
    .option('--json', 'print JSON: project_id, project_name, url, expires_at')
    .action(link)
  withExample(linking, 'switchyard owner-link', 'switchyard owner-link --project atlas')
}

async function link({ project, json }: Printing & { project?: string }): Promise<void> {
  const { readConfig } = await configuration()
  const { ownerLink } = await operateProjects()
  const config = readConfig()
  const printed = await ownerLink(config, { project, base: baseOf(config, process.env.SWITCHYARD_URL) })
  const { project_name, url, expires_at } = printed
  const life = `It works once, until ${when(expires_at)}. Earlier links no longer work.`
  const text = `Open this to own the project ${visible(project_name)}. ${life}`
  print(json ? JSON.stringify(printed) : `${text}\n\n  ${url}\n`)
}

const ANYWHERE = ['0.0.0.0', '::']

/** Where people reach the console: as the server would say it, which this command cannot ask. */
export function baseOf({ public_url, host, port }: Config, url?: string): string {
  if (public_url) return public_url
  if (url) return url.replace(/\/+$/, '')
  const name = ANYWHERE.includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
