// A validator's findings in words: which field, and what it must be (R2).
interface Finding {
  keyword: string
  instancePath: string
  params: Record<string, unknown>
  message?: string
}

export function describeInvalid(findings: readonly unknown[], where?: string): string {
  const [first, ...others] = findings as Finding[]
  if (!first) return 'The request is not valid.'
  // What stands in a query is text, but for what stands in it twice.
  if (where === 'querystring' && first.keyword === 'type')
    return `'${fieldName(first.instancePath)}' must be given once.`
  return `${sentence(first)}${others.some((other) => allowsNull(other, first)) ? ' or null' : ''}.`
}

/** Null may stand for the very value that was found wrong, not for what lies around it or in it. */
const allowsNull = ({ instancePath, params }: Finding, wrong: Finding) =>
  params.type === 'null' && instancePath === wrong.instancePath && !OF_MEMBERS.includes(wrong.keyword)

const OF_MEMBERS = ['required', 'additionalProperties', 'boolean']

function sentence({ keyword, instancePath, params, message }: Finding): string {
  if (keyword === 'required') return `'${fieldName(instancePath, missing(params))}' is required`
  if (keyword === 'additionalProperties')
    return `'${fieldName(instancePath, unknown(params))}' is not a field that is known here`
  if (keyword === 'boolean') return `'${fieldName(instancePath)}' is not a field that is known here`
  if (instancePath === '') return `The body must be a JSON ${params.type ?? 'value of another form'}`
  return `'${fieldName(instancePath)}' ${requirement(keyword, params, message)}`
}

/** Ajv names the first that is missing, TypeBox all of them. */
const missing = ({ missingProperty, requiredProperties }: Record<string, unknown>) =>
  missingProperty ?? (requiredProperties as unknown[] | undefined)?.[0]

/** Ajv names the first, TypeBox all of them. */
const unknown = ({ additionalProperty, additionalProperties }: Record<string, unknown>) =>
  additionalProperty ?? (additionalProperties as unknown[] | undefined)?.[0]

function requirement(keyword: string, params: Record<string, unknown>, message = 'is not valid'): string {
  const { type, limit, allowedValues } = params
  switch (keyword) {
    case 'type':
      return `must be ${/^[aio]/.test(String(type)) ? 'an' : 'a'} ${type}`
    case 'enum':
      return `must be one of ${(allowedValues as unknown[]).map((value) => `'${value}'`).join(', ')}`
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`
    case 'maxLength':
      return `must have at most ${limit} characters`
    case 'minItems':
      return `must have at least ${limit} ${limit === 1 ? 'entry' : 'entries'}`
    case 'maxItems':
      return `must have at most ${limit} entries`
    case 'uniqueItems':
      return 'must not name anything twice'
    case 'minimum':
      return `must be at least ${limit}`
    case 'maximum':
      return `must be at most ${limit}`
    case 'pattern':
      return PATTERNS[String(params.pattern)] ?? message
    default:
      return message
  }
}

const NAME = 'letters, digits, ".", "_" and "-", at most 64, with a letter or digit first'

/** What a pattern asks for, for people. */
const PATTERNS: Readonly<Record<string, string>> = {
  '^[!-~]+$': 'must be made of visible ASCII characters, without blanks',
  '^[\\w-]{43}$': 'must be a SHA-256 in base64url: 43 characters, without padding',
  '^ses_[0-9A-Za-z]{1,64}$': 'must be the id of a session: ses_…',
  '^[a-z0-9][a-z0-9._-]{0,63}$': `must be made of small ${NAME}`,
  '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$': `must be made of ${NAME}`,
  '^[a-z0-9][a-z0-9_-]{0,31}$':
    'must be made of small letters, digits, "_" and "-", at most 32, with a letter or digit first',
  '^prj_[0-9A-Za-z]{1,60}$': 'must be the id of a project: prj_…',
  '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$': 'must be the name of a bucket: 3 to 63 small letters, digits, "." and "-"',
  '^[a-zA-Z0-9/_.-]{0,256}$': 'must be made of letters, digits, "/", "_", "." and "-", at most 256',
  '^[!-+\\--~]{1,128}$': 'must be made of visible ASCII characters, at most 128, without blanks and commas',
  '^[!#-\\[\\]-~]{1,128}$':
    'must be made of visible ASCII characters, at most 128, without blanks, quotes and backslashes',
  '^\\d{4}-\\d\\d-\\d\\d$': 'must be a day such as 2026-11-01',
}

/** /tiers/0/name → tiers[0].name, as it would be written in code. */
function fieldName(instancePath: string, property?: unknown): string {
  const parts = instancePath.split('/').slice(1)
  if (property !== undefined) parts.push(String(property))
  return parts.map((part, at) => (/^\d+$/.test(part) ? `[${part}]` : at === 0 ? part : `.${part}`)).join('')
}
