// The command line without its effects: what is wrong usage, and what help says.
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { endingFor } from './failure.ts'
import { commandLine } from './program.ts'

/** Parses a line as somebody would type it. None of those below gets as far as doing anything. */
async function parse(line: string) {
  const complaints: string[] = []
  let shown = ''
  const show = (text: string) => {
    shown += text
  }
  const program = commandLine((text) => void complaints.push(text), { writeOut: show, writeErr: show })
  const ending = await program.parseAsync(line.split(' '), { from: 'user' }).then(() => undefined, endingFor)
  return { complaints, ending, shown }
}

test.each([
  ['frobnicate', "unknown command 'frobnicate'; --help lists the commands"],
  ['key lst', "unknown command 'lst' \\(Did you mean list\\?\\)"],
  ['key create', "required option '--name <text>' not specified"],
  ['key create --name x --scope root', "option '--scope <scope...>' argument 'root' is invalid.*"],
  ['key revoke key_1 key_2', 'too many arguments.*'],
  ['cluster heartbeat byc_1 --status fine', '.*Allowed choices are active, draining, down.'],
  ['key list --jsno', "unknown option '--jsno' \\(Did you mean --json\\?\\)"],
  ['key revoke svc_live_pasted', ".*'svc_live_pasted' is invalid.* It must begin with key_."],
  ['key budget key_1', 'give --usd with an amount, or --clear'],
  ['key budget key_1 --usd 1 --clear', ".*'--clear' cannot be used with option '--usd <amount>'"],
  ['key budget key_1 --usd 0.0000001', '.*at most six decimals.'],
  ['cluster register --name x --region y --max-replicas 1.5', '.*It must be a whole number.'],
  ['alias create fast', "required option '--target <where=model.*>' not specified"],
  ['alias create fast --target gpt-4o', '.*It must have the form openai=gpt-4o or openai=gpt-4o,90.'],
  ['alias activate als_1', '.*It must begin with alr_.'],
  ['usage --group-by week', '.*It must be one or more of day, model, .*'],
  ['usage --from yesterday', '.*It must be a time such as .*'],
  ['usage --csv --json', ".*'--csv' cannot be used with option '--json'"],
  ['limits set key_1', 'give --requests, --tokens, --streams, --parallel or --model-rate, or --clear'],
  ['limits set key_1 --clear --tokens 5', ".*'--clear' cannot be used with option '--tokens <count>'"],
  ['credential add --provider openai --name x --secret sk-pasted', "unknown option '--secret'.*"],
  ['restore nowhere', '.*There is no such file.'],
  ['prices check nowhere', "'nowhere' is invalid for <file>. There is no such file."],
  ['purge show key_1', "'key_1' is invalid for <job>. It must begin with prg_."],
])('§2 wrong usage is told in one line, with exit code 2: %s', async (line, message) => {
  const { complaints, ending } = await parse(line)
  expect(complaints).toEqual([expect.stringMatching(new RegExp(`^${message}$`))])
  expect(ending).toEqual({ code: 2 })
})

const leaves = (command: Command, path: string[] = []): string[] =>
  command.commands.length === 0
    ? [path.join(' ')]
    : command.commands.flatMap((child) => leaves(child, [...path, child.name()]))

test.each(leaves(commandLine(() => {})))('§2 `switchyard %s --help` shows an example of it', async (line) => {
  const { ending, shown } = await parse(`${line} --help`)
  expect(ending).toEqual({ code: 0 })
  expect(shown).toMatch(new RegExp(`\\nExamples?:\\n {2}\\$ .*switchyard ${line}`))
})

test('§2 the help says of every command whether it calls a service, opens the store or reads files', async () => {
  const [, settings = ''] = ((await parse('--help')).shown ?? '').split('\nSettings of ')
  const named = new Set(settings.split('Exit codes')[0]?.match(/[a-z-]+/g))
  const commands = commandLine(() => {}).commands.map((command) => command.name())
  expect(commands.filter((name) => name !== 'help' && !named.has(name))).toEqual([])
})

test('§2 the exit codes are in the help, and a command that is only a group is wrong usage', async () => {
  expect((await parse('--help')).shown).toMatch(/Exit codes:\n {2}0 {2}done\n {2}1 .*\n {2}2 .*\n {2}3 /)
  expect((await parse('key')).ending).toEqual({ code: 2 })
  expect(await parse('--version')).toMatchObject({
    ending: { code: 0 },
    shown: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  })
})
