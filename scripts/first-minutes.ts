// The first minutes of a new user, as text: what a start prints, the printed call, the owner's link, and that call seen
// in usage and in its trace. A server of its own, on an empty folder, started as `npm start` does.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/support/free-port.ts'
import { type ServerProcess, spawnServer } from '../test/torture/server-process.ts'
import { run, SHOWN_ORIGIN } from './transcript-commands.ts'
import type { Section } from './transcript-scene.ts'

export type FirstStart = Awaited<ReturnType<typeof firstStart>>

export async function firstStart(folder: string, hold: (server: ServerProcess) => void) {
  const port = await freePort()
  const log_file = join(folder, 'first-start.log')
  const server = spawnServer({
    port,
    folder,
    log_file,
    env: { SWITCHYARD_DATA_DIR: join(folder, 'first'), SWITCHYARD_DRAIN_MS: '0', LOG_LEVEL: 'warn' },
  })
  hold(server)
  await server.ready
  const origin = `http://127.0.0.1:${port}`
  const printed = () => readFileSync(log_file, 'utf8')
  const found = (pattern: RegExp) => pattern.exec(printed())?.[1] ?? ''

  /** What a shell prints for a command that is shown as it was typed, but for the address. */
  async function shell(command: string): Promise<string> {
    const typed = command.replaceAll(SHOWN_ORIGIN, origin).replaceAll('cookies.txt', join(folder, 'cookies.txt'))
    const answer = await run('sh', ['-c', typed], { TOKEN: found(/#token=(\w+)/) })
    return `$ ${command}\n${answer.replaceAll(origin, SHOWN_ORIGIN).replace(/\n*$/, '\n')}`
  }

  return {
    printed: () => printed().replaceAll(origin, SHOWN_ORIGIN),
    call: () => found(/(curl -s [\s\S]*?-d '.*')\n/).replaceAll(origin, SHOWN_ORIGIN),
    shell,
  }
}

const OWNER = `{"token":"'$TOKEN'","email":"ada@example.com","password":"correct horse battery"}`
const json = `-H 'Content-Type: application/json'`

export const FIRST_MINUTES: readonly Section[] = [
  {
    title: 'The first minutes: start',
    says: 'On an empty folder. The key is shown this once, the link works once. Lines of the log are left out.',
    take: async ({ first }) => `$ npm start\n${first.printed()}`,
  },
  {
    title: 'The first minutes: the first call',
    says: 'The printed call, pasted.',
    take: ({ first }) => first.shell(first.call().replace(/^ {4}/gm, '')),
  },
  {
    title: 'The first minutes: the first project has an owner',
    says:
      'The page behind the printed link asks for an address and a password, and sends this with its token. ' +
      'The answer signs in: the cookie is good for the console and for `/v2`.',
    async take({ first }) {
      const own = await first.shell(
        `curl -s -c cookies.txt ${SHOWN_ORIGIN}/auth/become-owner \\\n    ${json} \\\n    -d '${OWNER}'`,
      )
      return `${own}\n${await first.shell(`curl -s -b cookies.txt ${SHOWN_ORIGIN}/v2/project`)}`
    },
  },
  {
    title: 'The first minutes: the call is there',
    says: 'In usage, and step by step in its trace, whose name `agent-trace-id` told with the answer.',
    async take({ first }) {
      const usage = `curl -s -b cookies.txt ${SHOWN_ORIGIN}/v2/usage`
      const listed = await first.shell(usage)
      const trace = `${SHOWN_ORIGIN}/v2/traces/${/trc_\w+/.exec(listed)?.[0]}`
      return `${listed}\n${await first.shell(`curl -s -b cookies.txt ${trace} | grep -o '"sentence":"[^"]*"' | head -8`)}`
    },
  },
]
