// How a transcript's commands are run, and the address that they are shown with.
import { spawn } from 'node:child_process'
import { BUILT } from '../test/torture/server-process.ts'

export const SHOWN_ORIGIN = 'http://127.0.0.1:8080'

export function run(command: string, args: readonly string[], more: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...more } })
    const parts: Buffer[] = []
    child.stdout.on('data', (part: Buffer) => parts.push(part))
    child.once('error', (cause) => reject(new Error(`${command} cannot be run: is it installed?`, { cause })))
    child.once('close', () => resolve(Buffer.concat(parts).toString('utf8')))
  })
}

/** Commands of ours as one would type them in a folder, with SWITCHYARD_URL and SWITCHYARD_KEY set. */
export const commandsOf =
  ({ origin, token }: { origin: string; token: string }, folder = '.') =>
  async (command: string): Promise<string> => {
    const typed = command.replace(/^switchyard/, `'${process.execPath}' '${BUILT}/cli/main.js'`)
    const env = { SWITCHYARD_URL: origin, SWITCHYARD_KEY: token }
    const printed = await run('sh', ['-c', `cd '${folder}' && ${typed}`], env)
    return `$ ${command}\n${printed.replaceAll(origin, SHOWN_ORIGIN).replace(/\n*$/, printed ? '\n' : '')}`
  }
