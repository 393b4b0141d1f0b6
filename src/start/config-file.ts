// switchyard.yaml: providers, prices, limits. Checked as a whole; what is wrong is told with its line and its field.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Static, Type } from 'typebox'
import { Check, Clean, Default } from 'typebox/value'
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { checkSignIn, type SignInSettings, SignInShape, signInSettings } from '../accounts/sign-in-settings.ts'
import { type Patience, USUAL_PATIENCE } from '../answers/stream-patience.ts'
import { FILE_MIB_MOST } from '../artifacts/artifact.ts'
import { MICROS_OF_A_DAY, PCT_OF_A_DAY } from '../budgets/waiver.ts'
import { type Shares, SharesShape } from '../capacity/slot-share.ts'
import { S3Shape } from '../contents/s3-settings.ts'
import { parseCidr } from '../core/ip-address.ts'
import { describeInvalid } from '../http/validation-messages.ts'
import { OperatorModelRates, wrongIn } from '../limits/model-rates.ts'
import { type Limits, LimitsShape } from '../limits/policy.ts'
import { type Quotas, QuotasShape } from '../limits/quota.ts'
import { type OperatorAlias, OperatorAliasShape, operatorAlias } from '../models/operator-alias.ts'
import { BUILT_IN, type PriceBook, withPrices } from '../models/price-book.ts'
import {
  type ProviderSettings,
  ProviderShape,
  providerSettings,
  type Surroundings,
  tellIdle,
} from '../providers/provider-config.ts'
import { DAYS } from '../recordings/recording.ts'
import { type TracingFile, TracingShape } from '../telemetry/tracing-settings.ts'
import { SettingError, secretOf } from './config.ts'
import { substituted } from './file-variables.ts'
import { readPricesFile } from './prices-file.ts'
import { type Finding, findingsOf } from './shape-findings.ts'

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
    quotas: QuotasShape,
    shares: SharesShape,
    fees: Type.Object({ byok_micros: Micros, byoc_micros: Micros }, closed),
    deadlines: Type.Object(
      {
        waiver_micros: Type.Integer({ minimum: 0, maximum: 1_000_000_000_000, default: MICROS_OF_A_DAY }),
        waiver_pct: Type.Integer({ minimum: 0, maximum: 100, default: PCT_OF_A_DAY }),
      },
      closed,
    ),
    retention: Type.Object(
      { full_fidelity: Type.Boolean({ default: false }), days: Type.Integer({ ...DAYS }) },
      closed,
    ),
    streams: Type.Object(
      {
        headers_after_ms: Pause(0, 'headers_after_ms'),
        headers_latest_ms: Pause(1, 'headers_latest_ms'),
        comment_every_ms: Pause(10, 'comment_every_ms'),
      },
      closed,
    ),
    artifacts: Type.Object(
      { max_mib: Type.Integer({ minimum: 1, maximum: FILE_MIB_MOST, default: 16 }), s3: Type.Optional(S3Shape) },
      closed,
    ),
    prices_file: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
    tracing: TracingShape,
    sign_in: SignInShape,
    networks: Type.Object({ allow: Type.Array(Type.String(), { default: [], maxItems: 100 }) }, closed),
  },
  closed,
)
type FileShape = Static<typeof FileShape>

export interface FileSettings {
  /** Listed order is the order of preference for a model. */
  providers: readonly ProviderSettings[]
  /** What is built in, and what the price file says. */
  prices: PriceBook
  /** R83: for all projects. */
  aliases: readonly OperatorAlias[]
  limits: Limits
  /** R70: how many of a thing a project may have. */
  quotas: Quotas
  /** R78: what projects are to have of a target's slots beside others. */
  shares: Shares
  /** R42: what a generation costs on paths that the customer pays for. */
  fees: FileShape['fees']
  /** Whether input items and session contents are kept for reading back. */
  full_fidelity: boolean
  /** How long recordings are kept. */
  retention_days: number
  /** R82: how long a stream may be silent towards its client. */
  streams: Patience
  /** R71: how much deadlines may make free of charge, for each project and day. */
  deadlines: FileShape['deadlines']
  /** How large an artifact may be, and where contents lie that are to lie in object storage. */
  artifacts: FileShape['artifacts']
  /** Where traces go, and which are made. */
  tracing: TracingFile
  /** 0340: whose identity providers people sign in with, and how long sessions last. */
  sign_in: SignInSettings
  /** R12: private networks in which customers' clusters may be dialled. */
  allow_cidrs: readonly string[]
}

type Env = Readonly<Record<string, string | undefined>>

/** With the price file that it names, which models of the price book are looked up in. */
export function readConfigFile(path: string, env: Env): FileSettings {
  const readPrices: ReadPrices = (named) => withPrices(readPricesFile(resolve(dirname(path), named)))
  return parseConfig(textOf(path), path, env, readPrices)
}

/** By the name that the file has for it. Throws a SettingError. */
type ReadPrices = (named: string) => PriceBook

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new SettingError(`${path}: the file cannot be read: ${(error as Error).message}.`)
  }
}

/** What stands without a file: every default, and no provider. */
export const noConfigFile = (): FileSettings => parseConfig('{}', 'the defaults', {})

export function parseConfig(text: string, path: string, env: Env, readPrices?: ReadPrices): FileSettings {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const problems: Problem[] = []
  const tell = (line: number, message: string) => void problems.push({ line, message })
  const last = text.trimEnd().split('\n').length // what breaks off is told at its end, which may be lines below
  for (const { pos, message } of document.errors) tell(Math.min(lines.linePos(pos[0]).line, last), `${message}.`)
  refuseWith(problems, path) // what is no YAML has no fields to look at

  const unset = new Set<string>() // of a field whose variable is missing, nothing more is known
  const wrong = (pointer: string, message: string) =>
    unset.has(pointer) || tell(lines.linePos(offsetOf(document, pointer)).line, `${message}.`)
  const onMisspelt = (pointer: string, message: string) => {
    wrong(pointer, message)
    unset.add(pointer)
  }
  const heldBy = (pointer: string, name: string) => {
    const value = secretOf(env, name)
    if (value === undefined) onMisspelt(pointer, `the variable ${name} is not set`)
    return value ?? ''
  }
  const said = valuesOf(document, (message) => tell(1, message)) ?? {}
  const values = substituted(said, '', { heldBy, onMisspelt })
  checkSilence(values, wrong)
  const filled = Default(FileShape, values) as FileShape
  const prices = pricesNamedIn(filled, readPrices, wrong)
  for (const finding of worthTelling(findingsOf(FileShape, filled))) wrong(finding.instancePath, inWords(finding))
  const settings = settingsOf(filled, wrong, { env, prices })
  refuseWith(problems, path)
  return settings as FileSettings
}

/** What it refers to may not be there, which is found only now. */
function valuesOf(document: Document, tell: (message: string) => void): unknown {
  try {
    return document.toJS()
  } catch (error) {
    return void tell(`${(error as Error).message}.`)
  }
}

/** What is wrong in a price file is told with what is wrong in the file that names it. */
function pricesNamedIn({ prices_file }: FileShape, read: ReadPrices | undefined, wrong: Wrong): PriceBook {
  if (!read || typeof prices_file !== 'string' || prices_file === '') return BUILT_IN
  try {
    return read(prices_file)
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    for (const line of error.message.split('\n')) wrong('/prices_file', line.replace(/\.$/, ''))
    return BUILT_IN
  }
}

const inWords = (finding: Finding) =>
  finding.instancePath === '' && finding.keyword === 'type'
    ? "the file must be an object: fields such as 'providers'"
    : describeInvalid([finding]).slice(0, -1)

interface Problem {
  line: number
  message: string
}

/** All of them at once, in the order of the file: who mends one after the other runs this as often. */
function refuseWith(problems: readonly Problem[], path: string): void {
  if (problems.length === 0) return
  const inOrder = [...problems].sort((a, b) => a.line - b.line)
  const told = new Set(inOrder.map(({ line, message }) => `${path}:${line}: ${message}`))
  throw new SettingError([...told].join('\n'))
}

/** Where a field stands: its name where it has one, for a value may begin lines below. */
function offsetOf(document: Document, pointer: string): number {
  let node: unknown = document.contents
  let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0
  for (const part of pointer.split('/').slice(1)) {
    const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && String(key.value) === part) : undefined
    const named: unknown = isSeq(node) ? node.items[Number(part)] : pair?.key
    node = isSeq(node) ? named : pair?.value
    if (isNode(named)) offset = named.range?.[0] ?? offset
  }
  return offset
}

/** A name that nobody knows is most often the misspelling of one that is missing: then only the first is told. */
function worthTelling(findings: readonly Finding[]): Finding[] {
  const misspelled = new Set(findings.filter(({ keyword }) => keyword === 'boolean').map(parentOf))
  return findings.filter((one) => one.keyword !== 'required' || !misspelled.has(one.instancePath))
}

const parentOf = ({ instancePath }: Finding) => instancePath.slice(0, instancePath.lastIndexOf('/'))

type Wrong = (pointer: string, message: string) => void

/** R82: from the first byte on, a longer wait than that from the upstream's 200 would never end. */
function checkSilence(values: unknown, wrong: Wrong): void {
  const { headers_after_ms: after, headers_latest_ms: latest = USUAL_PATIENCE.headers_latest_ms } = Object(
    Object(values).streams,
  )
  if (typeof after === 'number' && typeof latest === 'number' && after > latest)
    wrong('/streams/headers_after_ms', "'streams.headers_after_ms' must not exceed streams.headers_latest_ms")
}

/** What no shape can say. Parts whose shape is wrong are left out; of them something has been told already. */
function settingsOf(file: FileShape, wrong: Wrong, around: Required<Surroundings>): FileSettings | undefined {
  const { limits, fees, deadlines, retention, streams, networks } = file
  const providers = Array.isArray(file.providers) ? file.providers : []
  for (const [index, provider] of providers.entries())
    if (provider?.id !== undefined && providers.findIndex((one) => one?.id === provider.id) !== index)
      wrong(`/providers/${index}/id`, `'providers[${index}].id': '${provider.id}' is there twice`)
  const settings = providers.flatMap((provider, index) => {
    const known = Clean(ProviderShape, structuredClone(provider)) // a misspelled field hides no other mistake
    if (!Check(ProviderShape, known)) return []
    const at = (field: string, message: string) =>
      wrong(`/providers/${index}${field}`, `providers[${index}]: ${message}`)
    tellIdle(known, at)
    return providerSettings(known, at, around)
  })
  for (const [index, network] of (Array.isArray(networks?.allow) ? networks.allow : []).entries())
    if (typeof network === 'string' && !parseCidr(network))
      wrong(`/networks/allow/${index}`, `'networks.allow[${index}]' must be like 10.0.0.0/8 or fd00::/8`)
  const rates = Check(OperatorModelRates, limits?.models) ? wrongIn(limits.models) : undefined
  if (rates !== undefined) wrong('/limits/models', `limits: ${rates.slice(0, -1)}`)
  for (const project_id of Object.keys(Object(file.shares?.projects)))
    if (!/^prj_\w+$/.test(project_id))
      wrong(`/shares/projects/${project_id}`, `'shares.projects': '${project_id}' must be the id of a project: prj_…`)
  if (isNoAddress(file.artifacts?.s3?.endpoint))
    wrong('/artifacts/s3/endpoint', "'artifacts.s3.endpoint' must be an http or https address")
  if (isNoAddress(file.tracing?.endpoint))
    wrong('/tracing/endpoint', "'tracing.endpoint' must be an http or https address")
  if (Check(SignInShape, file.sign_in)) checkSignIn(file.sign_in, (at, message) => wrong(`/sign_in${at}`, message))
  if (!Check(FileShape, file)) return undefined
  return {
    providers: settings,
    prices: around.prices,
    aliases: aliasesOf(file, settings, wrong),
    limits,
    quotas: file.quotas,
    shares: file.shares,
    fees,
    full_fidelity: retention.full_fidelity,
    retention_days: retention.days,
    streams,
    deadlines,
    artifacts: file.artifacts,
    tracing: file.tracing,
    sign_in: signInSettings(file.sign_in),
    allow_cidrs: networks.allow,
  }
}

const isNoAddress = (text: unknown) =>
  typeof text === 'string' && !/^https?:$/.test(URL.canParse(text) ? new URL(text).protocol : '')

function aliasesOf({ aliases }: FileShape, providers: readonly ProviderSettings[], wrong: Wrong): OperatorAlias[] {
  return aliases.map((alias, index) => {
    const at = (field: string, message: string) =>
      wrong(
        `/aliases/${index}/${field}`,
        `'aliases[${index}].${field.replace(/\/(\d+)/, '[$1]').replaceAll('/', '.')}': ${message}`,
      )
    if (aliases.findIndex((one) => one.name === alias.name) !== index) at('name', `'${alias.name}' is there twice`)
    return operatorAlias(alias, providers, at)
  })
}
