// Bedrock's exceptions, as answers and in the middle of a stream, in the words of Anthropic's protocol.
export interface MessagesError {
  type: 'error'
  error: { type: string; message: string }
}

/** By the kind of the exception: what it is called there, and the status that says what is to be done about it. */
const KINDS: Readonly<Record<string, [type: string, status: number]>> = {
  validation: ['invalid_request_error', 400],
  accessdenied: ['permission_error', 403],
  unrecognizedclient: ['authentication_error', 403],
  invalidsignature: ['authentication_error', 403],
  incompletesignature: ['authentication_error', 403],
  missingauthenticationtoken: ['authentication_error', 403],
  expiredtoken: ['authentication_error', 403],
  resourcenotfound: ['not_found_error', 404],
  throttling: ['rate_limit_error', 429],
  servicequotaexceeded: ['rate_limit_error', 429],
  modelnotready: ['rate_limit_error', 429],
  modeltimeout: ['timeout_error', 504],
  modelerror: ['api_error', 500], // the model failed, and not the request
  modelstreamerror: ['api_error', 500],
  internalserver: ['api_error', 500],
  serviceunavailable: ['overloaded_error', 503],
}

const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

/** As `ThrottlingException:http://internal…`, `throttlingException` or `com.amazon…#ThrottlingException`. */
const kindIn = (name: string) =>
  (/([a-z]+?)(?:exception|error)?(?::|$)/i.exec(name.replace(/^.*#/, ''))?.[1] ?? '').toLowerCase()

/** The keys themselves are not taken any more, whatever they may. */
export const isOfKeys = (exception: string) => ['expiredtoken', 'unrecognizedclient'].includes(kindIn(exception))

/** The status that the exception means: some come with one that says less. */
export const statusOf = (exception: string, status: number) => KINDS[kindIn(exception)]?.[1] ?? status

export function bedrockError(exception: string, status: number, said: unknown): MessagesError {
  const { message, Message, originalMessage } = (said ?? {}) as Record<string, unknown>
  const words = [message, Message, originalMessage].find((one) => typeof one === 'string' && one !== '')
  const type =
    KINDS[kindIn(exception)]?.[0] ?? BY_STATUS[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message: typeof words === 'string' ? words : unsaid(exception, status) } }
}

const unsaid = (exception: string, status: number) =>
  exception === '' ? `The upstream answered ${status}.` : `The upstream answered ${status}: ${exception.slice(0, 100)}.`
