// R81: what a Messages request says beside its body: the protocol's own headers and query, and which agent asks.
import type { FastifyRequest } from 'fastify'
import type { AskedOfMessages } from './call.ts'

const PREFIX = 'anthropic-'
const NAME_MAX = 256
const SAYABLE = /^[\t -~\u0080-\u00ff]*$/

export function askedOfMessages({ headers, raw }: FastifyRequest): AskedOfMessages {
  const own: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (name.startsWith(PREFIX) && typeof value === 'string' && SAYABLE.test(value)) own[name] = value
  }
  const { url = '' } = raw
  const query_at = url.indexOf('?')
  return {
    headers: own,
    query: query_at < 0 ? '' : url.slice(query_at),
    agent_id: named(headers['x-claude-code-agent-id']),
    parent_agent_id: named(headers['x-claude-code-parent-agent-id']),
  }
}

/** T-37: no store would take a NUL. */
const named = (value: string | string[] | undefined) =>
  typeof value === 'string' && value !== '' && !value.includes('\0') ? value.slice(0, NAME_MAX) : undefined
