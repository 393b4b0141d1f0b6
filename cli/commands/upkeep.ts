// `switchyard backup`, `restore` and `secret`: the store itself, as the settings name it.
import type { Command } from 'commander'
import { existingFile, print, withExample } from '../command-line.ts'
import { backup, configuration, operate } from '../on-demand.ts'

const SECRET = 'the file `secret` of the data folder, or SWITCHYARD_SECRET'

export function addUpkeep(program: Command): void {
  const backingUp = program
    .command('backup')
    .description('write the whole store to a file; the service may keep running')
    .argument('<file>', 'where to; only its owner will be able to read it')
    .option('--force', 'replace the file if it is there')
    .action(writeBackup)
  withExample(backingUp, 'switchyard backup switchyard-monday.backup')

  const restoring = program
    .command('restore')
    .description('replace the store with that of a backup; stop the service first')
    .argument('<file>', 'what `switchyard backup` wrote', existingFile)
    .action(restoreBackup)
  withExample(restoring, 'switchyard restore switchyard-monday.backup')

  const secret = program
    .command('secret')
    .description('the server secret, which encrypts secrets and contents in the store')
  const adopting = secret
    .command('adopt')
    .description('accept the present secret, and drop what another one encrypted; stop the service first')
    .action(adopt)
  withExample(adopting, 'switchyard secret adopt')
}

async function writeBackup(file: string, { force = false }: { force?: boolean }): Promise<void> {
  const { readConfig } = await configuration()
  const { backUp } = await backup()
  const bytes = await backUp(readConfig(), file, force, process.env)
  print(`Wrote ${file}, ${bytes} bytes.\nThe server secret is not in it. Keep that in another place: ${SECRET}.`)
}

async function restoreBackup(file: string): Promise<void> {
  const { readConfig } = await configuration()
  const { restore } = await backup()
  const { kept } = await restore(readConfig(), file, process.env)
  const before = kept ? ` The store that was there before is now ${kept}.` : ''
  print(
    `Restored ${file}.${before}\nThe server secret was not in it. The service needs the one of that time ` +
      `(${SECRET}), or \`switchyard secret adopt\` to go on with another.`,
  )
}

async function adopt(): Promise<void> {
  const { readConfig } = await configuration()
  const { adoptSecret } = await operate()
  const { adopted, dropped } = await adoptSecret(readConfig())
  print(
    adopted
      ? `The store uses the present secret now. Kept responses dropped: ${dropped}.`
      : 'The store uses the present secret already.',
  )
}
