// `switchyard config check`: reads the file as a start would, and says what is wrong with its line and field.
import type { Command } from 'commander'
import type { GatewaySettings } from '../../src/start/gateway-settings.ts'
import { existingFile, print, withExample } from '../command-line.ts'
import { configuration, gateway } from '../on-demand.ts'
import { table, visible } from '../table.ts'
import { baseOf } from './first-owner.ts'

export function addConfig(program: Command): void {
  const config = program.command('config').description('the file of providers, prices and limits')
  const checking = config
    .command('check')
    .description('check the file as a start would; nothing is started')
    .argument('[file]', 'default: SWITCHYARD_CONFIG, or ./switchyard.yaml', existingFile)
    .action(check)
  withExample(checking, 'switchyard config check switchyard.yaml')
}

async function check(file: string | undefined): Promise<void> {
  const { readConfig } = await configuration()
  const { gatewaySettings } = await gateway()
  const config = readConfig({ ...process.env, ...(file && { SWITCHYARD_CONFIG: file }) })
  const settings = gatewaySettings(config)
  print([forPeople(settings, config.config_file), ...redirects(settings, baseOf(config))].join('\n'))
}

/** What has to be registered at each identity provider. */
const redirects = ({ sign_in: { issuers } }: GatewaySettings, base: string) =>
  issuers.map(
    ({ id, name }) => `\nRegister at ${visible(name)}, as the redirect address: ${base}/auth/oidc/${id}/callback`,
  )

const NO_FILE = 'There is no file: SWITCHYARD_CONFIG is not set, and ./switchyard.yaml does not exist.'

function forPeople({ gateway: { providers } }: GatewaySettings, file: string | undefined): string {
  const found = file === undefined ? NO_FILE : 'The file is good.'
  if (providers.length === 0) return `${found} No provider is configured: the placeholder would answer.`
  const rows = providers.map(({ id, protocol, base_url, region, models }) => [
    id,
    protocol,
    base_url,
    region,
    String(models.length),
  ])
  const from = file === undefined ? `${found} The environment makes one provider.` : found
  return `${from}\n\n${table(['PROVIDER', 'PROTOCOL', 'ADDRESS', 'REGION', 'MODELS'], rows)}`
}
