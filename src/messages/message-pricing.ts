// R76: what of a Messages request costs something that its price does not tell, by the name of the field. Where a limit
// is to be kept, nobody can hold for it.
import { isGiven } from '../core/given.ts'
import type { Price } from '../models/price.ts'
import { FETCH, SEARCH } from './message-content.ts'

type Fields = Readonly<Record<string, unknown>>

/** Run by the client, or at no charge beside their tokens. */
const WITHOUT_CHARGE = /^(custom$|bash_|text_editor_|computer_|memory_|tool_search_tool_)/

/** Containers by the hour, and other models or further calls at prices of their own. */
const ELSEWHERE = ['container', 'fallbacks', 'fallback_credit_token', 'compaction']

/** Undefined where the price tells all. */
export function pricedApartInMessages(json: Fields, price: Price): string | undefined {
  const field = chargedField(json)
  if (field !== undefined || !Array.isArray(json.tools)) return field
  for (const [at, tool] of (json.tools as (Fields | null)[]).entries()) {
    const charged = chargedTool(tool ?? {}, `tools[${at}]`, price)
    if (charged !== undefined) return charged
  }
  return undefined
}

/** Of the request itself. Chat has tools of its own, and may say the rest in these words: they go along. */
export function chargedField(json: Fields): string | undefined {
  const { mcp_servers, inference_geo, speed } = json
  if (isGiven(mcp_servers) && !(Array.isArray(mcp_servers) && mcp_servers.length === 0)) return 'mcp_servers'
  const elsewhere = ELSEWHERE.find((name) => isGiven(json[name]))
  if (elsewhere) return elsewhere
  if (isGiven(inference_geo) && inference_geo !== 'global') return 'inference_geo'
  if (isGiven(speed) && speed !== 'standard') return 'speed'
  return compactionIn(json.context_management)
}

/** A summary that the upstream writes by itself, at any length. */
function compactionIn(context_management: unknown): string | undefined {
  const edits = (context_management as { edits?: unknown } | null | undefined)?.edits
  if (!Array.isArray(edits)) return undefined
  const at = edits.findIndex((edit: Fields | null) => String(edit?.type).startsWith('compact'))
  return at < 0 ? undefined : `context_management.edits[${at}].type`
}

function chargedTool({ type, max_uses }: Fields, at: string, { web_search }: Price): string | undefined {
  if (!isGiven(type)) return undefined
  if (typeof type !== 'string') return `${at}.type`
  const is_search = SEARCH.test(type)
  if (!is_search && !FETCH.test(type)) return WITHOUT_CHARGE.test(type) ? undefined : `${at}.type`
  if (is_search && web_search === undefined) return `${at}.type`
  return Number.isSafeInteger(max_uses) && (max_uses as number) >= 0 ? undefined : `${at} without max_uses`
}
