// How the command ends: what its exit codes mean, and the one line on standard error that says why.
import { CommanderError } from 'commander'

export const EXIT = { done: 0, failed: 1, usage: 2, unreachable: 3 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const EXIT_CODES = `Exit codes:
  0  done
  1  refused by the service, or failed
  2  wrong usage, or a bad setting
  3  the service or the store cannot be reached, or is not available`

/** An end that the command itself decided on. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exit_code: ExitCode

  constructor(exit_code: ExitCode, message: string) {
    super(message)
    this.exit_code = exit_code
  }
}

export interface Ending {
  code: ExitCode
  /** Absent where everything has been said already. */
  text?: string
}

// By name, because these classes live in modules that only some commands load.
const EXPECTED: Record<string, ExitCode> = {
  ImportError: EXIT.usage,
  FolderError: EXIT.failed,
  OperationError: EXIT.failed,
  Refusal: EXIT.failed,
}

export function endingFor(error: unknown): Ending {
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage }
  if (error instanceof Failure) return ending(error.exit_code, error.message)
  if (!(error instanceof Error)) return ending(EXIT.failed, String(error))
  const { kind, status, cause } = error as { kind?: string; status?: number; cause?: unknown }
  const no_tls = noTls(kind === 'unavailable' ? cause : error)
  if (no_tls !== undefined) return ending(EXIT.unreachable, no_tls)
  if (kind === 'unavailable' && status === 503)
    return ending(EXIT.unreachable, `The store cannot be reached: ${reasonOf(cause)}.`)
  if (error.name === 'SettingError') return { code: EXIT.usage, text: inLines(error.message) }
  const expected = EXPECTED[error.name]
  if (expected !== undefined) return ending(expected, error.message)
  return systemEnding(error) ?? ending(EXIT.failed, `unexpected: ${error.stack ?? error.message}`, false)
}

const ending = (code: ExitCode, text: string, inOneLine = true): Ending => ({
  code,
  text: inOneLine ? text.replace(/\s*\n\s*/g, ' ') : text,
})

/** A file may have several problems, each with its place: one a line, so that editors and people find them. */
function inLines(text: string): string {
  const problems = text.split('\n')
  return problems.length === 1 ? text : [`${problems.length} problems:`, ...problems].join('\n  ')
}

// As OpenSSL and Node name what is wrong with a certificate or a handshake. PostgreSQL's driver has words alone.
const TLS_CODES =
  /^(ERR_(TLS|SSL|OSSL)_\w+|(CERT|CRL|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO)_\w+|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH)$/
const TLS_WORDS = /^(The server does not support|There was an error establishing an) SSL connection|with sslrootcert/

/** Of a store. A service that is asked over TLS has failed by then with a message of its own. */
function noTls(error: unknown): string | undefined {
  const { code = '', message = '' } = (error ?? {}) as NodeJS.ErrnoException
  if (!TLS_CODES.test(code) && !TLS_WORDS.test(message)) return undefined
  return `The TLS that DATABASE_URL asks for (sslmode) cannot be had: ${message.replace(/\.$/, '')}.`
}

type SystemError = NodeJS.ErrnoException & { address?: string; port?: number }

/** What the operating system, SQLite or PostgreSQL refused. Their messages are fit to be read; their stacks are not. */
function systemEnding(error: SystemError): Ending | undefined {
  const { code = '', syscall, address, port, message } = error
  if (code === 'EADDRINUSE')
    return ending(EXIT.failed, `PORT ${port} on ${address} is in use. Stop what listens there, or set PORT.`)
  if (syscall === 'listen')
    return ending(EXIT.usage, `HOST ${address} with PORT ${port} cannot be listened on: ${code}.`)
  if (syscall === 'getaddrinfo') return ending(EXIT.usage, `HOST is not an address of this machine: ${message}.`)
  if (/^(28|3D)...$/.test(code)) return ending(EXIT.unreachable, `DATABASE_URL does not let us in: ${message}.`)
  if (code === '42501' || code === '3F000')
    return ending(EXIT.unreachable, `The user of DATABASE_URL may not ${denied(message)} there: ${message}.`)
  if (code === 'ERR_SQLITE_ERROR') return ending(EXIT.failed, `The store cannot be used: ${message}.`)
  if (syscall !== undefined) return ending(EXIT.failed, `${message}.`)
  return undefined
}

/** Tables that another user has made are there, and are not for this one. */
const denied = (message: string) => (/ (for|of) (table|sequence) /.test(message) ? 'use the tables' : 'create tables')

/** The innermost cause is what people can act on. Several addresses tried at once leave only a code. */
export function reasonOf(error: unknown): string {
  const { message, code, cause, name } = error as { message?: string; code?: string; cause?: unknown; name?: string }
  if (name === 'TimeoutError') return 'it did not answer in time'
  if (cause) return reasonOf(cause)
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'it does not speak TLS there; use http:// or another port'
  return message || code || 'unknown reason'
}
