#!/usr/bin/env node
// The `switchyard` command: serve, and everything an operator does by hand.
import { endingFor } from './failure.ts'
import { commandLine } from './program.ts'

const complain = (text: string) => void process.stderr.write(`switchyard: ${text}\n`)

process.umask(0o077) // whatever a command writes is for its owner alone
// A reader that has seen enough, such as head, is no failure.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1))

try {
  const { argv } = process
  await commandLine(complain).parseAsync(argv.length > 2 ? argv : [...argv, 'serve']) // so that `npx switchyard` serves
} catch (error) {
  const { code, text } = endingFor(error)
  if (text !== undefined) complain(text)
  process.exitCode = code
}
// Not left to the event loop: a server that could not start, or not stop in time, may still hold timers and sockets.
process.stdout.write('', () => process.exit())
