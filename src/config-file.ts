// switchyard.yaml: providers, prices, limits. Checked as a whole; what is wrong is told with its line and its field.
import { readFileSync } from 'node:fs'
import { type Static, Type } from 'typebox'
import { Check, Default, Errors } from 'typebox/value'
import { isNode, LineCounter, parseDocument } from 'yaml'
import { SettingError, secretOf } from './config.ts'
import { parseCidr } from './core/ip-address.ts'
import { describeInvalid } from './http/validation-messages.ts'
import { type Patience, USUAL_PATIENCE } from './inference/stream-patience.ts'
import { type Limits, LimitsShape } from './limits/policy.ts'
import { type OperatorAlias, OperatorAliasShape, operatorAlias } from './models/operator-alias.ts'
import { type ProviderSettings, ProviderShape, providerSettings } from './providers/provider-config.ts'

const closed = { additionalProperties: false, default: {} }
const Micros = Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0 })

const PAUSE_MAX_MS = 600_000
const Pause = (minimum: number, name: keyof Patience) =>
  Type.Integer({ minimum, maximum: PAUSE_MAX_MS, default: USUAL_PATIENCE[name] })

const FileShape = Type.Object(
  {
    providers: Type.Array(ProviderShape, { default: [], maxItems: 100 }),
    aliases: Type.Array(OperatorAliasShape, { default: [], maxItems: 1_000 }),
    limits: LimitsShape,
    fees: Type.Object({ byok_micros: Micros, byoc_micros: Micros }, closed),
    retention: Type.Object({ full_fidelity: Type.Boolean({ default: false }) }, closed),
    streams: Type.Object(
      {
        headers_after_ms: Pause(0, 'headers_after_ms'),
        headers_latest_ms: Pause(1, 'headers_latest_ms'),
        comment_every_ms: Pause(10, 'comment_every_ms'),
      },
      closed,
    ),
    networks: Type.Object({ allow: Type.Array(Type.String(), { default: [], maxItems: 100 }) }, closed),
  },
  closed,
)
type FileShape = Static<typeof FileShape>

export interface FileSettings {
  /** Listed order is the order of preference for a model. */
  providers: readonly ProviderSettings[]
  /** R83: for all projects. */
  aliases: readonly OperatorAlias[]
  limits: Limits
  /** R42: what a generation costs on paths that the customer pays for. */
  fees: FileShape['fees']
  /** Whether input items and session contents are kept for reading back. */
  full_fidelity: boolean
  /** R82: how long a stream may be silent towards its client. */
  streams: Patience
  /** R12: private networks in which customers' clusters may be dialled. */
  allow_cidrs: readonly string[]
}

type Env = Readonly<Record<string, string | undefined>>

export function readConfigFile(path: string, env: Env): FileSettings {
  return parseConfig(readFileSync(path, 'utf8'), path, env)
}

/** What stands without a file: every default, and no provider. */
export const noConfigFile = (): FileSettings => parseConfig('{}', 'the defaults', {})

export function parseConfig(text: string, path: string, env: Env): FileSettings {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number | undefined) => `${path}:${offset === undefined ? 1 : lines.linePos(offset).line}`
  const [broken] = document.errors
  if (broken) throw new SettingError(`${at(broken.pos[0])}: ${broken.message}.`)

  const lineOf = (pointer: string) => {
    const keys = pointer
      .split('/')
      .slice(1)
      .map((key) => (/^\d+$/.test(key) ? Number(key) : key))
    const node = document.getIn(keys, true)
    return at(isNode(node) ? node.range?.[0] : undefined)
  }
  const values = substituted(document.toJS() ?? {}, '', (pointer, name) => {
    const value = secretOf(env, name)
    if (value !== undefined) return value
    throw new SettingError(`${lineOf(pointer)}: the variable ${name} is not set.`)
  })
  const filled = Default(FileShape, values)
  if (!Check(FileShape, filled)) {
    const findings = [...Errors(FileShape, filled)]
    // A name that nobody knows is most often the misspelling of one that is missing.
    const first = findings.find(({ keyword }) => keyword === 'boolean') ?? findings[0]
    throw new SettingError(`${lineOf(first?.instancePath ?? '')}: ${describeInvalid([first])}`)
  }
  return settingsOf(filled as FileShape, (pointer, message) => new SettingError(`${lineOf(pointer)}: ${message}.`))
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** ${NAME} in any text, so that no secret need stand in the file. */
function substituted(value: unknown, pointer: string, variable: (pointer: string, name: string) => string): unknown {
  if (typeof value === 'string') return value.replace(VARIABLE, (_whole, name) => variable(pointer, name))
  if (Array.isArray(value)) return value.map((one, index) => substituted(one, `${pointer}/${index}`, variable))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, substituted(one, `${pointer}/${key}`, variable)]),
  )
}

function settingsOf(file: FileShape, wrong: (pointer: string, message: string) => Error): FileSettings {
  const { providers, limits, fees, retention, streams, networks } = file
  for (const [index, { id }] of providers.entries())
    if (providers.findIndex((one) => one.id === id) !== index)
      throw wrong(`/providers/${index}/id`, `'${id}' is there twice`)
  for (const [index, network] of networks.allow.entries())
    if (!parseCidr(network))
      throw wrong(`/networks/allow/${index}`, `'networks.allow[${index}]' must be like 10.0.0.0/8 or fd00::/8`)
  const settings = providers.map((provider, index) => {
    try {
      return providerSettings(provider)
    } catch (error) {
      throw wrong(`/providers/${index}`, `providers[${index}]: ${(error as Error).message}`)
    }
  })
  return {
    providers: settings,
    aliases: aliasesOf(file, settings, wrong),
    limits,
    fees,
    full_fidelity: retention.full_fidelity,
    streams,
    allow_cidrs: networks.allow,
  }
}

type Wrong = Parameters<typeof settingsOf>[1]

function aliasesOf({ aliases }: FileShape, providers: readonly ProviderSettings[], wrong: Wrong): OperatorAlias[] {
  return aliases.map((alias, index) => {
    const at = (field: string, message: string) =>
      wrong(
        `/aliases/${index}/${field}`,
        `'aliases[${index}].${field.replace(/\/(\d+)/, '[$1]').replaceAll('/', '.')}': ${message}`,
      )
    if (aliases.findIndex((one) => one.name === alias.name) !== index)
      throw at('name', `'${alias.name}' is there twice`)
    return operatorAlias(alias, providers, at)
  })
}
