#!/usr/bin/env node
// The `switchyard` command: serve, and everything an operator does by hand.
import { Command } from 'commander'
import { readConfig } from '../src/config.ts'
import { serveUntilSignal } from '../src/main.ts'

const program = new Command('switchyard').description('Inference control plane for persistent AI agents.')

program
  .command('serve')
  .description('Run the service in the foreground until SIGTERM.')
  .option('--dev')
  .action(async () => {
    process.exitCode = await serveUntilSignal(readConfig())
  })

program.parseAsync().catch((error: Error) => {
  process.stderr.write(`switchyard: ${error.message}\n`)
  process.exitCode = 1
})
