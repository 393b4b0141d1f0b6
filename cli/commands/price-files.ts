// `switchyard prices check` and `show`: an operator's price file against the built-in price book.
import type { Command } from 'commander'
import { existingFile, print, withExample } from '../command-line.ts'
import { EXIT, Failure } from '../failure.ts'
import { prices } from '../on-demand.ts'

export function addPrices(program: Command): void {
  const command = program.command('prices').description('the built-in price book, and price files beside it')
  const checking = command
    .command('check')
    .description('check a price file, and tell where it differs from the price book; exit code 1 where it does')
    .argument('<file>', 'YAML or JSON, as prices_file in switchyard.yaml names it', existingFile)
    .action(check)
  withExample(checking, 'switchyard prices check prices.yaml')
  const showing = command.command('show').description('print the price book as a price file').action(show)
  withExample(showing, 'switchyard prices show > prices.yaml')
}

async function check(file: string): Promise<void> {
  const { priceDifferences, readPricesFile } = await prices()
  const models = readPricesFile(file)
  const differences = priceDifferences(models)
  for (const { id, told } of differences) print(`${id}: ${told.join('; ')}`)
  const summary = `${models.length} models, ${differences.length} other than in the price book`
  if (differences.length > 0) throw new Failure(EXIT.failed, summary)
  print(summary)
}

async function show(): Promise<void> {
  const { pricesFileText } = await prices()
  print(pricesFileText())
}
