// R76: fields that change what a call costs in a way that its price does not tell: a tier, a search, sound, a tool that
// the upstream runs, state of the upstream's own. Where a limit is to be kept, nobody can hold for them. Pure.
import { isGiven } from '../core/given.ts'
import { chargedField, pricedApartInMessages } from '../messages/message-pricing.ts'
import type { Price } from '../models/price.ts'
import { isHostedSearch } from '../responses/client-tools.ts'
import { isReference } from '../responses/response-items.ts'
import type { Item } from '../responses/response-request.ts'
import type { Dialling } from '../routing/target.ts'
import type { Asked } from './call.ts'

const USUAL_TIERS: readonly unknown[] = ['auto', 'default', 'standard_only']
const NEVER = ['web_search_options', 'search_parameters', 'plugins', 'audio', 'prediction']
/** A Responses request may continue what only the upstream knows, at any length. */
const FOREIGN_STATE = ['conversation', 'prompt']
/** Run by the client, so they cost what their tokens cost. */
const CLIENT_TOOLS: readonly unknown[] = ['function', 'custom', 'namespace', 'local_shell', 'apply_patch']

/**
 * The first such field; undefined where the price tells all. `is_native`: a Responses request goes on as it is; over
 * chat hosted search is left out, and costs nothing. `protocol`: that of whoever is asked, which may know more fields
 * than the client's own.
 */
export function pricedApart(
  { kind, json, long_cache }: Asked,
  price: Price,
  is_native = true,
  protocol?: Dialling['protocol'],
): string | undefined {
  const { service_tier, modalities, tools } = json
  if (isGiven(service_tier) && !USUAL_TIERS.includes(service_tier)) return 'service_tier'
  const given = (name: string) => isGiven(json[name])
  const never = NEVER.find(given) ?? (kind === 'responses' ? FOREIGN_STATE.find(given) : undefined)
  if (never) return never
  if (Array.isArray(modalities) && modalities.some((one) => one !== 'text')) return 'modalities'
  if (long_cache && price.cache_write_1h === undefined) return 'cache_control.ttl'
  if (kind === 'messages') return pricedApartInMessages(json, price)
  const charged = protocol === 'anthropic' ? chargedField(json) : undefined
  if (charged) return charged
  const reference = kind === 'responses' ? foreignReference(json.input) : undefined
  if (reference) return reference
  const leaves_search = kind === 'responses' && !is_native
  return Array.isArray(tools) ? hostedTool(tools, leaves_search) : undefined
}

/** Ours were put in place of what pointed at them: what still points is for the upstream to know, at any length. */
function foreignReference(input: unknown): string | undefined {
  const at = Array.isArray(input) ? input.findIndex((item) => isGiven(item) && isReference(item as Item)) : -1
  return at < 0 ? undefined : `input[${at}]`
}

function hostedTool(tools: readonly unknown[], leaves_search: boolean): string | undefined {
  const at = tools.findIndex((tool) => {
    const type = (tool as { type?: unknown } | null)?.type
    return isGiven(type) && !CLIENT_TOOLS.includes(type) && !(leaves_search && isHostedSearch(type))
  })
  return at < 0 ? undefined : `tools[${at}].type`
}
