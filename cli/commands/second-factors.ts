// `switchyard second-factor`: the way back in for who has lost the device and the recovery codes. On the store itself.
import type { Command } from 'commander'
import { type Printing, print, withExample } from '../command-line.ts'
import { configuration, operateAccounts } from '../on-demand.ts'

export function addSecondFactor(program: Command): void {
  const factor = program.command('second-factor').description('second factors of people who sign in with a password')
  const removing = factor
    .command('remove')
    .description('remove somebody’s second factor, so that the password alone signs in; verify who asks for it')
    .argument('<email>', 'of the account')
    .option('--json', 'print JSON: person_id, email, removed')
    .action(remove)
  withExample(removing, 'switchyard second-factor remove ada@example.com')
}

async function remove(email: string, { json }: Printing): Promise<void> {
  const { readConfig } = await configuration()
  const { removeFactorOf } = await operateAccounts()
  const removed = await removeFactorOf(readConfig(), email)
  print(json ? JSON.stringify(removed) : `The second factor of ${removed.email} is removed.`)
}
