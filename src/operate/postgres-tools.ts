// PostgreSQL's own programs, run with the connection that DATABASE_URL names.
import { execFile } from 'node:child_process'
import { OperationError } from './operate.ts'

/** The environment of the process; it carries PATH, and what else the programs read of it. */
export type Environment = Readonly<Record<string, string | undefined>>

const OUTPUT_MAX_BYTES = 16 * 1024 * 1024

/** Resolves with what it printed. A `url` becomes the database it connects to. */
export function runTool(
  tool: 'pg_dump' | 'pg_restore',
  args: readonly string[],
  url: string | undefined,
  environment: Environment,
): Promise<string> {
  const login = url === undefined ? undefined : loginOf(url)
  const env = { ...environment, ...(login?.password && { PGPASSWORD: login.password }) }
  const all = login ? [`--dbname=${login.url}`, '--no-password', ...args] : [...args]
  return new Promise((resolve, reject) => {
    execFile(tool, all, { env, maxBuffer: OUTPUT_MAX_BYTES }, (error, stdout, stderr) => {
      if (!error) resolve(stdout)
      else if (error.code === 'ENOENT') reject(new OperationError(missing(tool), { cause: error }))
      else reject(new OperationError(`${tool} failed: ${stderr.trim() || error.message}`, { cause: error }))
    })
  })
}

const missing = (tool: string) =>
  `${tool} was not found on PATH, and a PostgreSQL store needs it for this. Install PostgreSQL's client programs of ` +
  "the server's own major version (Debian: apt-get install postgresql-client, or postgresql-client-17 and its like " +
  'from apt.postgresql.org). The image has none: see "Backup and restore" in docs/OPERATIONS.md.'

/** The password travels in the environment: arguments can be read by everybody on the machine. */
function loginOf(url: string): { url: string; password: string | undefined } {
  let password: string | undefined
  const take = (_: string, before: string, secret: string, after: string) => {
    password = decodeURIComponent(secret)
    return before + after
  }
  const bare = url.replace(/^([a-z]+:\/\/[^:@/?#]*):([^@/?#]*)(@)/, take).replace(/([?&])password=([^&#]*)(&?)/, take)
  return { url: bare, password }
}
