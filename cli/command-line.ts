// What every command shares: how it is declared, how its arguments are read, and how it prints.
import { existsSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { type Client, clientFrom } from './service-client.ts'

export interface Printing {
  json?: boolean
}

export function withExample(command: Command, ...lines: string[]): Command {
  const what = lines.length > 1 ? 'Examples' : 'Example'
  return command.addHelpText('after', `\n${what}:\n${lines.map((line) => `  $ ${line}`).join('\n')}`)
}

export const withJson = (command: Command) => command.option('--json', 'print the JSON that the service answered')

export const service = (): Client => clientFrom(process.env)

export function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** Ids go into addresses. The form is checked first, so that a raw key pasted by mistake stays out of every log. */
export function idOf(
  prefix: 'key' | 'byc' | 'alr' | 'pcr' | 'prj' | 'sub' | 'prg' | 'rpl' | 'art' | 'bnd' | 'nch' | 'dlv' | 'tbg' | 'viw',
) {
  return (text: string): string => {
    if (!new RegExp(`^${prefix}_\\w+$`).test(text)) throw new InvalidArgumentError(`It must begin with ${prefix}_.`)
    return text
  }
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

/** R6: a finer amount would be rounded on its way through a number, and then be taken for another one. */
export function usdAmount(text: string): number {
  if (!/^\d{1,10}(\.\d{1,6})?$/.test(text))
    throw new InvalidArgumentError('It must be an amount such as 5 or 0.25, with at most six decimals.')
  return Number(text)
}

export function existingFile(text: string): string {
  if (!existsSync(text)) throw new InvalidArgumentError('There is no such file.')
  return text
}
