// Settings: what is read, and the one line that a bad one stops the start with.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseCidr } from '../core/ip-address.ts'
import { readConfig, SETTINGS, SettingError, VARIABLES } from './config.ts'

test('§settings an empty environment gives every default', () => {
  expect(readConfig({})).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    data_dir: './data',
    database_url: undefined,
    redis_url: undefined,
    secret: undefined,
    bootstrap_key: undefined,
    trusted_proxies: [],
    config_file: undefined,
    drain_ms: 500,
    stop_ms: 30_000,
    log_level: 'info',
  })
})

test('§settings an empty value counts as not given', () => {
  const empty = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '']))
  expect({ ...readConfig(empty), variables: {} }).toEqual(readConfig({}))
})

test('§settings everything that is given is taken', () => {
  const config = readConfig({
    HOST: '0.0.0.0',
    PORT: '0',
    SWITCHYARD_DATA_DIR: '/var/lib/switchyard',
    DATABASE_URL: 'postgresql://db/switchyard',
    SWITCHYARD_SECRET: 's'.repeat(32),
    SWITCHYARD_BOOTSTRAP_KEY: `svc_live_${'k'.repeat(32)}`,
    SWITCHYARD_TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8',
    SWITCHYARD_CONFIG: tmpdir(),
    SWITCHYARD_DRAIN_MS: '60000',
    SWITCHYARD_STOP_MS: '900000',
    SWITCHYARD_WORKERS: '4',
    LOG_LEVEL: 'silent',
  })
  expect(config).toMatchObject({
    host: '0.0.0.0',
    port: 0,
    data_dir: '/var/lib/switchyard',
    database_url: 'postgresql://db/switchyard',
    secret: 's'.repeat(32),
    bootstrap_key: `svc_live_${'k'.repeat(32)}`,
    trusted_proxies: [parseCidr('10.0.0.0/8'), parseCidr('fd00::/8')],
    config_file: tmpdir(),
    drain_ms: 60_000,
    stop_ms: 900_000,
    workers: 4,
    log_level: 'silent',
  })
})

const BAD: [keyof typeof SETTINGS, string][] = [
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['PORT', '0x50'],
  ['PORT', ' 80'],
  ['PORT', 'http'],
  ['DATABASE_URL', 'mysql://db/switchyard'],
  ['DATABASE_URL', 'db:5432'],
  ['DATABASE_URL', 'postgres://switchyard:hunter#2@db/switchyard'],
  ['DATABASE_URL', 'postgres://switchyard:hunter/2@db/switchyard'],
  ['DATABASE_URL', 'postgres://switchyard:hunter?2@db/switchyard'],
  ['DATABASE_URL', 'postgres://switchyard:12#hunter2@db/switchyard'],
  ['DATABASE_URL', 'postgres://switchyard:hunter%e92@db/switchyard'],
  ['DATABASE_URL', 'postgres://db:99999/switchyard'],
  ['DATABASE_URL', 'postgres:///switchyard?host=/run/postgresql&port=99999'],
  ['DATABASE_URL', 'postgres://db/switchyard?connect_timeout=abc'],
  ['DATABASE_URL', 'postgres://db/switchyard?sslmode=verify-full&connect_timeout='],
  ['DATABASE_URL', 'postgres://db/switchyard?sslmode=verify-full&sslrootcert=/nowhere/ca.pem'],
  ['REDIS_URL', 'cache:6379'],
  ['REDIS_URL', 'http://cache:6379'],
  ['REDIS_URL', 'redis://'],
  ['REDIS_URL', 'redis://cache/first'],
  ['REDIS_URL', 'redis://cache:6379?db=1'],
  ['REDIS_URL', 'redis://one:6379,two:6379'],
  ['REDIS_URL', 'redis+cluster://'],
  ['REDIS_URL', 'redis+cluster://one:6379,,two:6379'],
  ['REDIS_URL', 'redis+cluster://one:6379/1'],
  ['REDIS_URL', 'redis+cluster://one:port'],
  ['REDIS_URL', `redis+cluster://${Array.from({ length: 33 }, (_, n) => `n${n}`).join(',')}`],
  ['SWITCHYARD_SECRET', 's'.repeat(31)],
  ['SWITCHYARD_BOOTSTRAP_KEY', 'admin'],
  ['SWITCHYARD_BOOTSTRAP_KEY', `svc_live_${'k'.repeat(31)}`],
  ['SWITCHYARD_BOOTSTRAP_KEY', `svc_live_${'k'.repeat(31)} k`],
  // A number of hops, or everybody: both would believe whatever a client writes.
  ['SWITCHYARD_TRUSTED_PROXIES', '1'],
  ['SWITCHYARD_TRUSTED_PROXIES', 'true'],
  ['SWITCHYARD_TRUSTED_PROXIES', 'loopback'],
  ['SWITCHYARD_TRUSTED_PROXIES', '10.0.0.1'],
  ['SWITCHYARD_TRUSTED_PROXIES', '10.0.0.0/33'],
  ['SWITCHYARD_TRUSTED_PROXIES', '10.0.0.0/8,'],
  ['SWITCHYARD_TRUSTED_PROXIES', '10.0.0.0/8 fd00::/8'],
  ['SWITCHYARD_CONFIG', '/nowhere/switchyard.yaml'],
  ['SWITCHYARD_TRUSTED_PROXIES', 'true'],
  ['SWITCHYARD_TRUSTED_PROXIES', '1'],
  ['SWITCHYARD_TRUSTED_PROXIES', '10.0.0.0/33'],
  ['OPENAI_BASE_URL', 'api.example.com'],
  ['HTTPS_PROXY', 'proxy:3128'],
  ['SWITCHYARD_PUBLIC_URL', 'switchyard.example.com'],
  ['SWITCHYARD_PUBLIC_URL', 'https://example.com/switchyard'],
  ['SWITCHYARD_SIGN_UP', 'closed'],
  ['SMTP_URL', 'mail.example.com:25'],
  ['SWITCHYARD_USAGE_RETENTION_DAYS', '0'],
  ['SWITCHYARD_DRAIN_MS', '60001'],
  ['SWITCHYARD_DRAIN_MS', '1s'],
  ['SWITCHYARD_STOP_MS', '3600001'],
  ['SWITCHYARD_WORKERS', '0'],
  ['SWITCHYARD_WORKERS', '65'],
  ['LOG_LEVEL', 'loud'],
  ['LOG_LEVEL', 'INFO'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', '/v1/traces'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'abc'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
  ['OTEL_TRACES_SAMPLER_ARG', '2'],
  ['OTEL_TRACES_SAMPLER_ARG', 'half'],
  ['OTEL_RESOURCE_ATTRIBUTES', 'team'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
  ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '-1'],
  ['OTEL_BSP_SCHEDULE_DELAY', '5s'],
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_SDK_DISABLED', 'yes'],
]

test.each(BAD)('§settings %s=%s: one line that names it and what it must be', (name, value) => {
  const refused = catching(() => readConfig({ [name]: value }))
  expect(refused).toBeInstanceOf(SettingError)
  expect(refused?.message).toMatch(new RegExp(`^${name} must .+\\.$`))
})

test('§settings why a DATABASE_URL is none: what the driver would stumble over, and not the password', () => {
  const told = (url: string) => catching(() => readConfig({ DATABASE_URL: url }))?.message ?? ''
  for (const password of ['hunter2#', 'hunter2/', 'hunter2?', '12#hunter2', 'hunter2%ff']) {
    const message = told(`postgres://switchyard:${password}@db/switchyard`)
    expect(message).toMatch(/#, \/, \?, @ of the password percent-encoded: %23, %2F, %3F, %40\.$/)
    expect(message).not.toContain('hunter2')
  }
  expect(told('postgres://db:99999/s')).toContain('a port of at most 65535')
  expect(told('postgres://db/s?connect_timeout=abc')).toBe('DATABASE_URL must have whole seconds as connect_timeout.')
  expect(told('postgres://db/s?sslcert=/nowhere')).toBe('DATABASE_URL must name a file that can be read as sslcert.')
})

test.each([
  'postgres://u:p%23%2F%3F%40%25@db:5432/s?connect_timeout=10&sslmode=verify-full',
  'postgres://u:p@w%zz@db/s',
  'postgres://[::1]:5432/s',
  'postgres://u@%2Frun%2Fpostgresql/s',
  'postgres://u@/s?host=/run/postgresql&port=5433',
  'postgresql:///s?host=/run/postgresql',
])('§settings %s is one: whatever the driver can take', (url) => {
  expect(readConfig({ DATABASE_URL: url }).database_url).toBe(url)
})

test('§settings every setting that can be wrong is wrong above', () => {
  const anyText = ['HOST', 'SWITCHYARD_DATA_DIR', 'OPENAI_API_KEY', 'NO_PROXY', 'OTEL_SERVICE_NAME']
  const refused = new Set<string>(BAD.map(([name]) => name))
  expect(Object.keys(SETTINGS).filter((name) => !refused.has(name))).toEqual(anyText)
})

// A secret that is printed when it is refused ends up in a log.
test.each(['SWITCHYARD_SECRET', 'SWITCHYARD_BOOTSTRAP_KEY', 'DATABASE_URL', 'SMTP_URL', 'OTEL_EXPORTER_OTLP_HEADERS'])(
  '§settings %s is not repeated',
  (name) => {
    expect(catching(() => readConfig({ [name]: 'hunter2' }))?.message).not.toContain('hunter2')
  },
)

const SECRETS: [name: string, value: string, taken: object][] = [
  ['DATABASE_URL', 'postgres://u:hunter2@db/s', { database_url: 'postgres://u:hunter2@db/s' }],
  ['REDIS_URL', 'redis://:hunter2@cache:6379', { redis_url: 'redis://:hunter2@cache:6379' }],
  ['SWITCHYARD_SECRET', 'hunter2'.repeat(5), { secret: 'hunter2'.repeat(5) }],
  ['SWITCHYARD_BOOTSTRAP_KEY', `svc_live_${'k'.repeat(40)}`, { bootstrap_key: `svc_live_${'k'.repeat(40)}` }],
  ['OPENAI_API_KEY', 'sk-hunter2', { openai: { api_key: 'sk-hunter2' } }],
  ['SMTP_URL', 'smtps://u:hunter2@mail', { smtp_url: 'smtps://u:hunter2@mail' }],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'api-key=hunter2', { otel: { headers: { 'api-key': 'hunter2' } } }],
]

test.each(SECRETS)(
  '§settings %s_FILE: the secret is what the file holds, but for the line break',
  (name, value, taken) => {
    for (const end of ['', '\n', '\r\n'])
      expect(readConfig({ [`${name}_FILE`]: fileWith(`${value}${end}`) })).toMatchObject(taken)
  },
)

test.each(SECRETS)(
  '§settings %s in both ways, in no file or an empty one: one line, and no secret in it',
  (name, value) => {
    const file = fileWith(value)
    const both = catching(() => readConfig({ [name]: value, [`${name}_FILE`]: file }))
    expect(both).toBeInstanceOf(SettingError)
    expect(both?.message).toBe(`${name} and ${name}_FILE are both set: keep one of them.`)
    for (const bad of [`${file}.gone`, tmpdir(), fileWith(''), fileWith('\n')])
      expect(catching(() => readConfig({ [`${name}_FILE`]: bad }))?.message).toBe(
        `${name}_FILE must name a file that can be read and is not empty.`,
      )
  },
)

test('§settings what a file holds is checked as what a variable holds is', () => {
  const refused = catching(() => readConfig({ DATABASE_URL_FILE: fileWith('mysql://hunter2\n') }))
  expect(refused?.message).toBe('DATABASE_URL must begin with postgres:// or postgresql://.')
})

test('§settings every setting that holds a secret can be in a file, and no other', () => {
  expect(VARIABLES.filter((name) => name.endsWith('_FILE'))).toEqual(
    SECRETS.map(([name]) => `${name}_FILE`).sort(asListed),
  )
  expect(readConfig({ HOST_FILE: '/nowhere' }).host).toBe('127.0.0.1')
})

const asListed = (one: string, other: string) => VARIABLES.indexOf(one) - VARIABLES.indexOf(other)

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-secret-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'secret')
  writeFileSync(file, text)
  return file
}

function catching(work: () => unknown): Error | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return error as Error
  }
}
