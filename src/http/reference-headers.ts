// §10 in the OpenAPI document: the headers that requests may carry and answers have, each described once.
interface Answer {
  headers?: object
}

interface Operation {
  security?: readonly unknown[]
  parameters?: object[]
  requestBody?: unknown
  responses?: Record<string, Answer>
}

interface Document {
  components?: object
  paths?: Record<string, Record<string, unknown> | undefined>
}

const EVERYWHERE = { 'x-request-id': 'Names this request, also in the log of the server: `req_…`.' }

const RATE = { RateLimit: 'Of the rates of requests the one with the least left: what remains, and when more comes.' }

const AUTHENTICATED = {
  ...RATE,
  'RateLimit-Policy': 'The rates of the key and of the project that apply to the endpoint.',
}

const COMPATIBLE = {
  'x-ratelimit-limit-requests': 'Requests in a minute.',
  'x-ratelimit-remaining-requests': 'Requests that are left.',
  'x-ratelimit-reset-requests': 'In how many seconds more comes.',
  'x-ratelimit-limit-tokens': 'Tokens in a minute.',
  'x-ratelimit-remaining-tokens': 'Tokens that are left.',
  'x-ratelimit-reset-tokens': 'In how many seconds more comes.',
}

const KEYED = {
  'agent-idempotent-replay': 'Where the request had an idempotency key: `true` for a kept answer, else `false`.',
}

const TOLD = {
  'Agent-Ignored-Fields':
    'On `/v2`, the names of fields that are unknown here; on generations, of hints that nobody acted on.',
}

const BEGUN = {
  'Agent-Trace-Id': 'The generation, also in its usage event: `trc_…`.',
  ...TOLD,
  'Agent-QoS-Admission': '`admitted`, `queued`, `rejected` or `expired_before_start`.',
}

const GENERATED = {
  'Agent-Resolved-Provider': 'The upstream that answered.',
  'Agent-Resolved-Model': 'The model it resolved to.',
  'Agent-Alias-Release': 'Where an alias was asked for, its release: `alr_…`.',
  'Agent-Execution-Profile': '`managed_provider`, `byok`, `subscription`, `byoc_native` or `byoc_epp`.',
  'agent-execution-mode': '`live`, `emergency_fallback` or `placeholder`.',
  'Agent-Region': 'The region after regional policy.',
  'Agent-QoS-Target-Met': '`true` or `false`, where the request set a target. Of some streams, a trailer.',
  'Agent-QoS-Fallback-Used': '`true` or `false`: whether a compatible path stood in.',
  'agent-hints-honored': 'Which parts of the hints were acted on, where there were hints.',
  'Agent-Subscription-Id': 'On the `subscription` profile: `sub_…`.',
  'Agent-Subscription-Discount-Pct': 'On the `subscription` profile: the discount on input within the allowance.',
  'Agent-Output-Clamped': 'Where the budget bought no longer answer: the output tokens that the upstream was allowed.',
  'Agent-Session-Contents-Dropped': 'Where its session keeps no contents of it, though it was to: `quota`.',
  'Agent-Bundle': 'Where a bundle went before what the client said: `bnd_…`.',
  'Agent-Byok-Credential-Id': 'On the `byok` profile: `pcr_…`.',
}

const CHARGED = {
  'Agent-Charged-Micros': 'What it cost, in micro-USD. Of a stream, in its trailers.',
  'Agent-Direct-Cost-Micros': 'What it would have cost at list price with no reuse. Of a stream, in its trailers.',
  'Agent-Savings-Micros': 'Direct cost minus charge, at least 0. Of a stream, in its trailers.',
}

const AGAIN = {
  'Retry-After': 'Whole seconds to wait before a repeat, where waiting helps and the time is known.',
  'x-should-retry': '`false` where repeating cannot help.',
}

const UNKNOWN_CALLER = { 'WWW-Authenticate': 'On 401: `Bearer`.' }
const SIGNED_IN = { 'Set-Cookie': 'The cookie of a browser’s session.' }

const ANSWERED = {
  ...EVERYWHERE,
  ...AUTHENTICATED,
  ...COMPATIBLE,
  ...KEYED,
  ...TOLD,
  ...BEGUN,
  ...GENERATED,
  ...CHARGED,
  ...AGAIN,
  ...UNKNOWN_CALLER,
  ...SIGNED_IN,
}

const ASKED = {
  'Agent-Hints':
    'Hints as base64url of JSON without padding: `reuse`, `qos`, `safety`. What cannot be read is ignored.',
  'Agent-Hints-Ref': 'Stored hints, `ah_…`. They win over `Agent-Hints`; ignored where they are not the project’s.',
  'Agent-Bundle':
    'A bundle, `bnd_…`, to go before turns and tools of chat, responses and messages. Never ignored: 404.',
  'Agent-Tags': 'What the call is filed under in usage: `team=search, run=42`, at most 8. What cannot be read is 400.',
  'x-session-id': 'Names the conversation where the hints do not.',
}

/** The paths that generate are told: what they answer with is not in their schemas. */
export function withHeaders<D extends Document>(document: D, generating: ReadonlySet<string>): D {
  for (const [path, operations = {}] of Object.entries(document.paths ?? {}))
    for (const [method, operation] of Object.entries(operations)) {
      const generates = generating.has(path)
      addHeaders(operation as Operation, { path, generates, is_keyed: method === 'post' && isClosed(operation) })
    }
  const headers = described(ANSWERED, () => ({}))
  const parameters = described(ASKED, (name) => ({ in: 'header', name, required: false }))
  return { ...document, components: { ...document.components, headers, parameters } }
}

interface About {
  path: string
  generates: boolean
  is_keyed: boolean
}

function addHeaders(operation: Operation, about: About): void {
  if (about.generates)
    operation.parameters = [
      ...(operation.parameters ?? []),
      ...Object.keys(ASKED).map((name) => ref('parameters', name)),
    ]
  for (const [status, answer] of Object.entries(operation.responses ?? {})) {
    const told = operation.requestBody !== undefined && about.path.startsWith('/v2/') && !about.generates && TOLD
    const names = Object.keys({ ...usual(isClosed(operation), about), ...told, ...bearing(status, about) })
    answer.headers = Object.fromEntries(names.map((name) => [name, ref('headers', name)]))
  }
}

const isClosed = (operation: unknown) => (operation as Operation).security?.length !== 0

const usual = (is_closed: boolean, { path, is_keyed }: About) => ({
  ...EVERYWHERE,
  ...(is_closed && AUTHENTICATED),
  ...(/^\/(v1|openai)\//.test(path) && COMPATIBLE),
  ...(is_keyed && KEYED),
})

/** What depends on how it went. An upstream's own 4xx is handed on with all that is known of it but a charge. */
function bearing(status: string, { path, generates }: About): object {
  const generation = generates && { ...BEGUN, ...(status !== '5XX' && GENERATED), ...(status === '200' && CHARGED) }
  if (status === '200') return { ...generation, ...(path.startsWith('/auth/') && SIGNED_IN) }
  const refused = { ...AGAIN, ...(status === '4XX' && RATE) } // the edge refuses anybody
  return { ...generation, ...refused, ...(status === '4XX' && !path.startsWith('/auth/') && UNKNOWN_CALLER) }
}

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` })

const described = (headers: Record<string, string>, more: (name: string) => object) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [
      name,
      { ...more(name), description, schema: { type: 'string' } },
    ]),
  )
