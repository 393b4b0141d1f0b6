// Whatever goes wrong, the caller gets the one envelope (§7, R2) and the standard security headers (§10.2): also from
// the router, the parser, Node's HTTP server, and before any of them could read the request.
import type { OutgoingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type About, Refusal, type RefusalName, refusalNameFor } from '../core/refusal.ts'
import { generationAsked } from './generation-asked.ts'
import { messagesError, speaksMessages } from './messages-errors.ts'
import { describeInvalid } from './validation-messages.ts'

// Not imported: that makes every name of the module, for which Node 22 and later load a whole HTTP client.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const

export const JSON_TYPE = 'application/json; charset=utf-8'

export function answerError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = asRefusal(error)
  tellTrouble(refusal, error, request)
  return answerRefusal(refusal, reply)
}

/**
 * A fault is for somebody to look into; that something else is away is expected, and told in one line. What fails at a
 * customer's own target is theirs to look after.
 */
export function tellTrouble({ status, kind, message, about }: Refusal, error: Error, request: FastifyRequest): void {
  const { log, routeOptions } = request
  if (kind !== 'fault' && status < 500 && !about?.has_event) return
  const line = { route: routeOptions.url, ...generationFields(request, about) }
  if (kind === 'fault') log.error({ err: error, ...line }, 'failed')
  else log[about?.is_customers ? 'info' : 'warn']({ kind, cause: causesOf(error), ...line }, message)
}

/** R80: whose generation it was, and where it went. */
function generationFields(request: FastifyRequest, about: About = {}) {
  const asked = generationAsked(request)
  if (!asked) return undefined
  const { trace_id, key_id, project_id, model } = asked
  const { provider, target, upstream_status, said } = about
  return { trace_id, project_id, key_id, model: model?.slice(0, 256), provider, target, upstream_status, said }
}

const CAUSES_MAX = 5

/** Down to the first of them, in their words, but for a SyntaxError's: those quote what could not be read. */
function causesOf({ cause }: Error): string | undefined {
  const told: string[] = []
  for (let one = cause; one && told.length < CAUSES_MAX; one = (one as Error).cause) {
    const { name, message = String(one), code } = one as NodeJS.ErrnoException
    told.push((one instanceof SyntaxError ? undefined : message || code) ?? name)
  }
  return told.join(': ') || undefined
}

export function answerRefusal(refusal: Refusal, reply: FastifyReply): FastifyReply {
  // A body that was not read to its end would be taken for the next request.
  if (refusal.status === 413 || refusal.status === 408) reply.header('connection', 'close')
  if (speaksMessages(reply.request.url)) return answerInMessages(refusal, reply)
  return reply.code(refusal.status).headers(refusal.headers).header('content-type', JSON_TYPE).send(refusal.body)
}

/** R81: in the shape that clients of that protocol know; an upstream's own error, as it came. */
function answerInMessages(refusal: Refusal, reply: FastifyReply): FastifyReply {
  const { in_its_words: words } = refusal
  reply.headers(refusal.headers).header('content-type', JSON_TYPE).header('request-id', reply.request.id)
  if (words) return reply.code(words.status).headers(words.headers).send(words.body)
  const { status, body } = messagesError(refusal, reply.request.id)
  return reply.code(status).send(body)
}

const FRAMEWORK_MESSAGES: { [Name in RefusalName]?: string } = {
  unsupported_media_type: 'Send the body as JSON, with the header Content-Type: application/json.',
  body_too_large: 'The body is larger than this endpoint takes.',
}

/** What the caller will be told, whatever went wrong. */
export function asRefusal(error: FastifyError): Refusal {
  if (error instanceof Refusal) return error
  if (error.validation)
    return new Refusal('invalid_request', describeInvalid(error.validation, error.validationContext))
  // The framework's own refusals: a body that is too large, is not JSON, or has no type we read.
  const status = error.statusCode ?? 500
  if (status >= 400 && status < 500) {
    const name = refusalNameFor(status)
    return new Refusal(name, FRAMEWORK_MESSAGES[name] ?? error.message, { cause: error })
  }
  return new Refusal('fault', 'Something went wrong on our side. Nothing about it is yours to fix.', { cause: error })
}

const NODE_CLIENT_ERRORS: Record<string, [RefusalName, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request headers are larger than 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request took too long to arrive.'],
}

/** `url`: of the request whose body did not come; what is not HTTP names none. */
export type ClientError = NodeJS.ErrnoException & { url?: string | undefined }

/** Malformed HTTP never reaches the router; it is answered on the bare socket. */
export function answerClientError(
  error: ClientError,
  socket: Socket & { _httpMessage?: OutgoingMessage },
  request_id: string,
): void {
  // What was written into an answer that is under way, such as a stream, would be taken for a part of it.
  const answering = socket._httpMessage?.headersSent
  // Who connected ahead of a request and sent nothing yet would take an answer for that of the request to come.
  const unasked = socket.bytesRead === 0
  if (error.code === 'ECONNRESET' || !socket.writable || answering || unasked) return void socket.destroy()
  const [name, message] = NODE_CLIENT_ERRORS[error.code ?? ''] ?? ['invalid_request', 'This is not well-formed HTTP.']
  answerOn(socket, plainAnswer(new Refusal(name, message), request_id, error.url))
}

/** CONNECT asks for a tunnel, and never reaches the router. */
export function answerTunnel(socket: Duplex, request_id: string): void {
  const headers = { allow: 'GET, HEAD, POST, PATCH, DELETE' }
  const message = 'This is no proxy: CONNECT is not taken.'
  answerOn(socket, plainAnswer(new Refusal('method_not_allowed', message, { headers }), request_id))
}

const LINGER_MS = 2_000

/** For what Fastify never hears of. */
export function plainAnswer(refusal: Refusal, request_id: string, url = '') {
  const is_messages = speaksMessages(url) // R81
  const { status, body } = is_messages ? messagesError(refusal, request_id) : refusal
  const payload = JSON.stringify(body)
  const headers = {
    ...SECURITY_HEADERS,
    ...refusal.headers,
    'x-request-id': request_id,
    ...(is_messages && { 'request-id': request_id }),
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(payload),
    connection: 'close',
  }
  return { status, headers, payload }
}

function answerOn(socket: Duplex, { status, headers, payload }: ReturnType<typeof plainAnswer>): void {
  const head = Object.entries(headers)
    .map(([header, value]) => `${header}: ${value}\r\n`)
    .join('')
  socket.on('error', () => {})
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${payload}`)
  // Who goes on sending has had their answer by then. Closed at once, it could be lost with what they sent.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
