// How a transcript's commands are run, and the address that they are shown with.
import { spawn } from 'node:child_process'

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
