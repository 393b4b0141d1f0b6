// `switchyard usage quarantine`: usage that could not be added up, on the store itself (R78).
import type { Command } from 'commander'
import { idOf, type Printing, print, withExample } from '../command-line.ts'
import { configuration, operateUsage } from '../on-demand.ts'
import { dollars, table } from '../table.ts'

interface Asked extends Printing {
  project?: string
  retry?: true
}

export function addQuarantine(usage: Command): void {
  const quarantine = usage
    .command('quarantine')
    .description('list usage events that could not be added up, or try them again; opens the store')
    .option('--project <id>', 'only of this project', idOf('prj'))
    .option('--retry', 'let the next roll-up try it again')
    .option('--json', 'print JSON: a list in data, or retried')
    .action(show)
  withExample(
    quarantine,
    'switchyard usage quarantine',
    'switchyard usage quarantine --project prj_1b2c3d4e5f6g7h8i9j0k --retry',
  )
}

async function show(_asked: Asked, command: Command): Promise<void> {
  const { project, retry, json }: Asked = command.optsWithGlobals()
  const config = (await configuration()).readConfig()
  const { listSetAside, retrySetAside } = await operateUsage()
  if (retry) {
    const retried = await retrySetAside(config, project)
    return print(json ? JSON.stringify({ retried }) : `${retried} events wait for the next roll-up.`)
  }
  const data = await listSetAside(config, project)
  if (json) return print(JSON.stringify({ object: 'list', data, has_more: false }))
  const rows = data.map((one) => [
    new Date(one.set_aside_ms).toISOString(),
    one.trace_id,
    one.project_id,
    dollars(one.charged_micros),
    one.reason,
  ])
  print(table(['SET ASIDE', 'TRACE', 'PROJECT', 'CHARGED', 'REASON'], rows))
}
