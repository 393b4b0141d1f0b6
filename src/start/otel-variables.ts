// The standard variables of OpenTelemetry that the server reads itself. Its packages read some more by themselves, such
// as those for compression and certificates.
import { type OtelVariables, SAMPLERS } from '../telemetry/tracing-settings.ts'
import { integer, mustBe } from './setting-text.ts'

const HTTP = /^https?:\/\//
const MANY = 1_000_000

function address(text: string | undefined): string | undefined {
  if (text !== undefined && !(HTTP.test(text) && URL.canParse(text))) throw mustBe('be an http or https address')
  return text
}

/** `name=value,name=value`, each encoded as in an address. */
function pairs(text: string | undefined): Record<string, string> | undefined {
  if (text === undefined) return undefined
  const split = text.split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(split.map(pairOf))
}

function pairOf(pair: string): [string, string] {
  const at = pair.indexOf('=')
  if (at < 1) throw mustBe('have the form name=value,name=value')
  try {
    return [decodeURIComponent(pair.slice(0, at).trim()), decodeURIComponent(pair.slice(at + 1).trim())]
  } catch {
    throw mustBe('have values that are encoded as in an address')
  }
}

const count = (usual: number) => ({
  default: String(usual),
  read: (text = String(usual)) => integer(text, 1, MANY),
})

export const OTEL_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    meaning:
      'Where traces go over OTLP, as HTTP and protobuf: `http://collector:4318`, to which `/v1/traces` is added.',
    default: 'unset: no traces are made',
    read: address,
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    meaning: 'The same as a whole address, for traces alone.',
    default: 'unset',
    read: address,
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    secret: true as const,
    meaning: 'What the collector is sent along: `authorization=Bearer%20abc,x-team=search`.',
    default: 'nothing',
    read: pairs,
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    meaning: 'Only `http/protobuf` is spoken.',
    default: '`http/protobuf`',
    read: (text: string | undefined) => {
      if (text !== undefined && text !== 'http/protobuf') throw mustBe('be http/protobuf')
      return text
    },
  },
  OTEL_EXPORTER_OTLP_TIMEOUT: {
    meaning: 'Milliseconds that an export may take.',
    default: '10000',
    read: (text: string | undefined) => (text === undefined ? undefined : integer(text, 1, 600_000)),
  },
  OTEL_TRACES_SAMPLER: {
    meaning:
      'Which requests are traced: `always_on`, `always_off` or `traceidratio`; with `parentbased_` before it, what ' +
      "the client's `traceparent` says goes first.",
    default: '`parentbased_always_on`',
    read: (text: string | undefined) => {
      const sampler = SAMPLERS.find((known) => known === text)
      if (text !== undefined && !sampler) throw mustBe(`be one of ${SAMPLERS.join(', ')}`)
      return sampler
    },
  },
  OTEL_TRACES_SAMPLER_ARG: {
    meaning: 'The share of a `traceidratio`, 0 to 1.',
    default: '1',
    read: (text: string | undefined) => {
      const ratio = text === undefined ? undefined : Number(text)
      if (ratio !== undefined && !(ratio >= 0 && ratio <= 1)) throw mustBe('be a number from 0 to 1')
      return ratio
    },
  },
  OTEL_SERVICE_NAME: {
    meaning: 'What this service is called in traces.',
    default: '`switchyard`',
    read: (text: string | undefined) => text,
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    meaning: 'What else is told of it: `deployment.environment.name=prod,team=search`.',
    default: 'nothing',
    read: (text: string | undefined) => pairs(text) ?? {},
  },
  OTEL_BSP_MAX_QUEUE_SIZE: { meaning: 'Spans that wait to be exported, at most; more are dropped.', ...count(2_048) },
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: { meaning: 'Spans that are exported at once, at most.', ...count(512) },
  OTEL_BSP_SCHEDULE_DELAY: { meaning: 'Milliseconds until spans are exported.', ...count(5_000) },
  OTEL_SDK_DISABLED: {
    meaning: '`true` turns traces off, whatever else is set. So does `OTEL_TRACES_EXPORTER=none`.',
    default: '`false`',
    read: (text = 'false') => {
      if (text !== 'true' && text !== 'false') throw mustBe('be true or false')
      return text === 'true'
    },
  },
  OTEL_TRACES_EXPORTER: {
    meaning: '`otlp`, or `none`.',
    default: '`otlp`',
    read: (text: string | undefined) => {
      if (text !== undefined && text !== 'otlp' && text !== 'none') throw mustBe('be otlp or none')
      return text
    },
  },
}

type Values = { [Name in keyof typeof OTEL_SETTINGS]: ReturnType<(typeof OTEL_SETTINGS)[Name]['read']> }

export function otelVariables(read: <Name extends keyof Values>(name: Name) => Values[Name]): OtelVariables {
  read('OTEL_EXPORTER_OTLP_PROTOCOL')
  return {
    endpoint: read('OTEL_EXPORTER_OTLP_ENDPOINT'),
    traces_endpoint: read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'),
    headers: read('OTEL_EXPORTER_OTLP_HEADERS'),
    timeout_ms: read('OTEL_EXPORTER_OTLP_TIMEOUT'),
    sampler: read('OTEL_TRACES_SAMPLER'),
    sampler_ratio: read('OTEL_TRACES_SAMPLER_ARG'),
    service_name: read('OTEL_SERVICE_NAME'),
    attributes: read('OTEL_RESOURCE_ATTRIBUTES'),
    queue: {
      spans: read('OTEL_BSP_MAX_QUEUE_SIZE'),
      batch: read('OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
      delay_ms: read('OTEL_BSP_SCHEDULE_DELAY'),
    },
    is_disabled: read('OTEL_SDK_DISABLED') || read('OTEL_TRACES_EXPORTER') === 'none',
  }
}
