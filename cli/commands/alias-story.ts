// `switchyard alias history` and `outcomes`: §9.4, which release was active when, and how the calls of each went.
import type { Command } from 'commander'
import type { AliasActivation, ReleaseOutcome } from '../../src/models/alias-activation.ts'
import { type Printing, print, service, withExample, withJson } from '../command-line.ts'
import { dollars, table, when } from '../table.ts'

export function addAliasStory(alias: Command): void {
  const telling = withJson(alias.command('history'))
    .description('list when releases of an alias were activated, and by whom, newest first')
    .argument('<name>', 'the alias')
    .action(history)
  withExample(telling, 'switchyard alias history fast')

  const comparing = withJson(alias.command('outcomes'))
    .description('compare the releases of an alias by what their latest calls cost, failed and took')
    .argument('<name>', 'the alias')
    .action(outcomes)
  withExample(comparing, 'switchyard alias outcomes fast')
}

const pathOf = (name: string, what: string) => `/v2/aliases/${encodeURIComponent(name)}/${what}`

async function history(name: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: AliasActivation[] }>(pathOf(name, 'activations'))
  if (json) return print(text)
  const rows = body.data.map((one) => [
    when(one.activated_at),
    String(one.version),
    one.release_id,
    String(one.previous_version ?? '-'),
    one.activated_by ?? '-',
  ])
  print(table(['ACTIVATED', 'VERSION', 'RELEASE', 'BEFORE', 'BY'], rows))
}

async function outcomes(name: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: ReleaseOutcome[] }>(pathOf(name, 'outcomes'))
  if (json) return print(text)
  const rows = body.data.map((one) => [
    String(one.version),
    one.release_id,
    String(one.requests),
    String(one.failed),
    dollars(one.charged_micros),
    String(one.ttft_p95_ms ?? '-'),
    String(one.duration_p95_ms ?? '-'),
  ])
  print(table(['VERSION', 'RELEASE', 'CALLS', 'FAILED', 'CHARGED', 'FIRST TOKEN P95 MS', 'DURATION P95 MS'], rows))
}
