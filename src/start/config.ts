// Every setting: its name, what it means, its default and its bounds. A bad one stops the start with one line that
// names it and what it must be. The table in docs/OPERATIONS.md is checked against SETTINGS.
import { existsSync, readFileSync } from 'node:fs'
import { SIGN_UP_MODES, type SignUpMode } from '../accounts/account.ts'
import type { Cidr } from '../core/ip-address.ts'
import { parseRedisUrl } from '../counters/redis-url.ts'
import { isOperatorForm } from '../keys/key.ts'
import { parseNoProxy } from '../providers/outbound-proxy.ts'
import { databaseUrl } from './database-url.ts'
import { OTEL_SETTINGS, otelVariables } from './otel-variables.ts'
import { cidrs, integer, mustBe, SettingError } from './setting-text.ts'

export { SettingError } from './setting-text.ts'

interface Setting<T> {
  meaning: string
  default: string
  /** It holds a secret: NAME_FILE may name a file that has it instead. */
  secret?: true
  /** The value for a text that was given, or for undefined where it was not. */
  read(text: string | undefined): T
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const SECRET_LENGTH_MIN = 32

export const SETTINGS = {
  HOST: {
    meaning: 'Address to listen on.',
    default: '127.0.0.1',
    read: (text = '127.0.0.1') => text,
  },
  PORT: {
    meaning: 'Port to listen on; 0 takes a free one.',
    default: '8080',
    read: (text = '8080') => integer(text, 0, 65_535),
  },
  SWITCHYARD_DATA_DIR: {
    meaning: 'Folder of the embedded store and of the server secret.',
    default: './data',
    read: (text = './data') => text,
  },
  DATABASE_URL: {
    secret: true,
    meaning:
      'A PostgreSQL, 15 or later, instead of the embedded store: `postgres://user:password@host/database`. ' +
      'A connection is waited for 2.5 s; `?connect_timeout=` says other seconds.',
    default: 'unset',
    read: databaseUrl,
  },
  REDIS_URL: {
    secret: true,
    meaning:
      'A Redis, 7 or later, or a Valkey, in which the replicas of one PostgreSQL count rates together: ' +
      '`redis://user:password@host:6379/0`, `redis+cluster://user:password@host:6379,host:6379` for some nodes of a ' +
      'cluster, or `rediss` in place of `redis` for TLS.',
    default: 'unset: each process counts by itself',
    read: (text) => {
      if (text !== undefined && !parseRedisUrl(text))
        throw mustBe('have the form redis://user:password@host:6379/0, or redis+cluster:// with nodes of a cluster')
      return text
    },
  },
  SWITCHYARD_SECRET: {
    secret: true,
    meaning: 'Seals kept responses and credentials; the same on every replica. At least 32 characters.',
    default: 'made once, kept in the data folder with mode 0600',
    read: (text) => {
      if (text !== undefined && text.length < SECRET_LENGTH_MIN)
        throw mustBe(`have at least ${SECRET_LENGTH_MIN} characters`)
      return text
    },
  },
  SWITCHYARD_BOOTSTRAP_KEY: {
    secret: true,
    meaning: 'The admin key that the first start gives the first project, for automation.',
    default: 'made, printed once',
    read: (text) => {
      if (text !== undefined && !isOperatorForm(text))
        throw mustBe('begin with svc_live_, followed by at least 32 visible ASCII characters')
      return text
    },
  },
  SWITCHYARD_TRUSTED_PROXIES: {
    meaning: 'Proxies in front, as CIDRs: `10.0.0.0/8,fd00::/8`. Only they are believed for whom they forward.',
    default: 'none',
    read: (text = '') => cidrs(text),
  },
  SWITCHYARD_CONFIG: {
    meaning: 'A YAML file for providers, prices and limits.',
    default: '`./switchyard.yaml` if there',
    read: (text) => {
      if (text !== undefined && !existsSync(text)) throw mustBe('name a file that exists')
      return text ?? (existsSync('./switchyard.yaml') ? './switchyard.yaml' : undefined)
    },
  },
  OPENAI_API_KEY: {
    secret: true,
    meaning: 'Without a file, this alone makes a live gateway to OpenAI.',
    default: 'unset',
    read: (text) => text,
  },
  OPENAI_BASE_URL: {
    meaning: 'Where that gateway goes instead: anything that speaks the OpenAI protocol.',
    default: '`https://api.openai.com/v1`',
    read: (text) => {
      if (text !== undefined && !/^https?:\/\//.test(text)) throw mustBe('be an http or https address')
      return text
    },
  },
  HTTPS_PROXY: {
    meaning:
      'A proxy that upstreams over https are reached through: `http://user:password@proxy:3128`. Also in small letters.',
    default: 'none: they are dialled directly',
    read: (text) => {
      const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
      if (text !== undefined && !(url && /^https?:$/.test(url.protocol))) throw mustBe('be an http or https address')
      return url
    },
  },
  NO_PROXY: {
    meaning:
      'Whom to dial directly all the same: names, `.domains`, addresses, CIDRs, with commas between them; `*` is all.',
    default: 'nobody',
    read: (text = '') => parseNoProxy(text),
  },
  SWITCHYARD_PUBLIC_URL: {
    meaning: 'Where people reach this server: links in mails begin with it, and over https cookies are bound to TLS.',
    default: 'the address it listens on',
    read: (text) => {
      const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
      if (text !== undefined && !(url && /^https?:$/.test(url.protocol) && url.pathname === '/' && !url.search))
        throw mustBe('be an http or https address without a path')
      return url?.origin
    },
  },
  SWITCHYARD_SIGN_UP: {
    meaning: 'Who may make an account: anybody (`open`), or only who was invited into a project (`invited`).',
    default: '`open` on a loopback `HOST` without a public address, else `invited`',
    read: (text) => {
      const mode = SIGN_UP_MODES.find((known) => known === text)
      if (text !== undefined && !mode) throw mustBe(`be one of ${SIGN_UP_MODES.join(', ')}`)
      return mode
    },
  },
  SMTP_URL: {
    secret: true,
    meaning: 'Where mails go: `smtps://user:password@host?from=no-reply@example.com`.',
    default: 'files in `outbox` in the data folder, and their links in the log',
    read: (text) => {
      if (text !== undefined && !(/^smtps?:\/\/./.test(text) && URL.canParse(text)))
        throw mustBe('begin with smtp:// or smtps://')
      return text
    },
  },
  SWITCHYARD_USAGE_RETENTION_DAYS: {
    meaning:
      'Days that single usage events are kept at least, 1 to 36500. What they add up to, and what was spent, stays.',
    default: 'for ever',
    read: (text) => (text === undefined ? undefined : integer(text, 1, 36_500)),
  },
  SWITCHYARD_DRAIN_MS: {
    meaning:
      'After SIGTERM, how long to go on answering at least, with readiness at 503, so that load balancers notice. ' +
      'At most 60000.',
    default: '500',
    read: (text = '500') => integer(text, 0, 60_000),
  },
  SWITCHYARD_STOP_MS: {
    meaning:
      'After that, how long requests and streams under way may take to end before they are cut off. At most 3600000.',
    default: '30000',
    read: (text = '30000') => integer(text, 0, 3_600_000),
  },
  SWITCHYARD_WORKERS: {
    meaning:
      'Processes that serve behind the one port, 1 to 64; each uses one core. More than one needs `DATABASE_URL` and ' +
      '`REDIS_URL`.',
    default: '1',
    read: (text = '1') => integer(text, 1, 64),
  },
  LOG_LEVEL: {
    meaning: 'How much is logged, as JSON lines on standard output: `fatal` to `trace`, or `silent`.',
    default: 'info',
    read: (text = 'info') => {
      const level = LOG_LEVELS.find((known) => known === text)
      if (!level) throw mustBe(`be one of ${LOG_LEVELS.join(', ')}`)
      return level
    },
  },
  ...OTEL_SETTINGS,
} satisfies Record<string, Setting<unknown>>

export interface Config {
  host: string
  port: number
  data_dir: string
  database_url: string | undefined
  redis_url: string | undefined
  secret: string | undefined
  bootstrap_key: string | undefined
  /** §8.1: whose X-Forwarded-For is believed. */
  trusted_proxies: readonly Cidr[]
  config_file: string | undefined
  openai: { api_key: string | undefined; base_url: string | undefined }
  /** What upstreams over https are reached through, and which of them are not. */
  https_proxy: URL | undefined
  no_proxy: ReturnType<typeof parseNoProxy>
  public_url: string | undefined
  /** Undefined where nobody said so: then it depends on who can reach the server. */
  sign_up: SignUpMode | undefined
  smtp_url: string | undefined
  usage_retention_days: number | undefined
  drain_ms: number
  stop_ms: number
  /** Processes behind the one port. */
  workers: number
  /** OpenTelemetry's own variables. */
  otel: ReturnType<typeof otelVariables>
  /** What ${NAME} in the file stands for. */
  variables: Readonly<Record<string, string | undefined>>
  log_level: (typeof LOG_LEVELS)[number]
}

export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  return {
    host: read(env, 'HOST'),
    port: read(env, 'PORT'),
    data_dir: read(env, 'SWITCHYARD_DATA_DIR'),
    database_url: read(env, 'DATABASE_URL'),
    redis_url: read(env, 'REDIS_URL'),
    secret: read(env, 'SWITCHYARD_SECRET'),
    bootstrap_key: read(env, 'SWITCHYARD_BOOTSTRAP_KEY'),
    trusted_proxies: read(env, 'SWITCHYARD_TRUSTED_PROXIES'),
    config_file: read(env, 'SWITCHYARD_CONFIG'),
    openai: { api_key: read(env, 'OPENAI_API_KEY'), base_url: read(env, 'OPENAI_BASE_URL') },
    https_proxy: read(withSmall(env, 'HTTPS_PROXY'), 'HTTPS_PROXY'),
    no_proxy: read(withSmall(env, 'NO_PROXY'), 'NO_PROXY'),
    public_url: read(env, 'SWITCHYARD_PUBLIC_URL'),
    sign_up: read(env, 'SWITCHYARD_SIGN_UP'),
    smtp_url: read(env, 'SMTP_URL'),
    usage_retention_days: read(env, 'SWITCHYARD_USAGE_RETENTION_DAYS'),
    drain_ms: read(env, 'SWITCHYARD_DRAIN_MS'),
    stop_ms: read(env, 'SWITCHYARD_STOP_MS'),
    workers: read(env, 'SWITCHYARD_WORKERS'),
    otel: otelVariables((name) => read(env, name) as never),
    variables: env,
    log_level: read(env, 'LOG_LEVEL'),
  }
}

/** Where the file is by now: one that was written after the start counts, as it will at the next one. */
export const configFileNow = ({ config_file, variables }: Config): string | undefined =>
  config_file ?? read(variables, 'SWITCHYARD_CONFIG')

/** Programs spell it either way; small letters go first, as in curl. */
const withSmall = (env: NodeJS.ProcessEnv, name: string) => ({ [name]: env[name.toLowerCase()] || env[name] })

type Settings = typeof SETTINGS

/** Every variable that the server reads by itself. */
export const VARIABLES: readonly string[] = Object.entries<Setting<unknown>>(SETTINGS).flatMap(([name, { secret }]) =>
  secret ? [name, `${name}_FILE`] : [name],
)

/**
 * What a variable holds, or the file that NAME_FILE names, without the line break at its end. An empty value counts as
 * not given: that is what an unset variable in a compose file becomes.
 */
export function secretOf(env: Config['variables'], name: string): string | undefined {
  const [text, file] = [env[name] || undefined, env[`${name}_FILE`] || undefined]
  if (file === undefined) return text
  if (text !== undefined) throw new SettingError(`${name} and ${name}_FILE are both set: keep one of them.`)
  const held = contentsOf(file)?.replace(/\r?\n$/, '')
  if (!held) throw new SettingError(`${name}_FILE must name a file that can be read and is not empty.`)
  return held
}

function contentsOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function read<Name extends keyof Settings>(env: NodeJS.ProcessEnv, name: Name): ReturnType<Settings[Name]['read']> {
  const setting = SETTINGS[name] as Setting<ReturnType<Settings[Name]['read']>>
  const text = setting.secret ? secretOf(env, name) : env[name] || undefined
  try {
    return setting.read(text)
  } catch (error) {
    if (error instanceof SettingError) throw new SettingError(`${name} ${error.message}.`)
    throw error
  }
}
