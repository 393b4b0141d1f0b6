// What is to be erased, as it is typed, and in words.
import { ApiError } from '../../api/api-client.ts'
import type { NewPurgeJob, PurgeFilter, PurgeJob } from '../../api/purge-calls.ts'
import { count } from '../../parts/amounts.ts'
import { typedLines } from '../../parts/text-area-field.tsx'
import { moment, typedInstant } from '../../parts/times.ts'

export type PurgeWhat = 'ids' | 'range' | 'everything'

export interface PurgeDraft {
  what: PurgeWhat
  ids: string
  key_id: string
  from: string
  to: string
  confirm: string
}

export const NO_PURGE: PurgeDraft = { what: 'ids', ids: '', key_id: '', from: '', to: '', confirm: '' }

type List = 'session_ids' | 'response_ids' | 'trace_ids' | 'artifact_ids' | 'bundle_ids'

/** Which list an id belongs to is told by how it begins. */
const LISTS: Readonly<Record<string, List>> = {
  ses: 'session_ids',
  resp: 'response_ids',
  trc: 'trace_ids',
  art: 'artifact_ids',
  bnd: 'bundle_ids',
}

export function purgeOf(draft: PurgeDraft): NewPurgeJob {
  if (draft.what === 'everything') return { filter: { everything: true }, confirm: draft.confirm }
  if (draft.what === 'ids') return { filter: listed(typedLines(draft.ids) ?? []) }
  const [from, to] = [typedInstant(draft.from), typedInstant(draft.to)]
  const key_id = draft.key_id.trim()
  return { filter: { ...(key_id && { key_id }), ...(from && { from }), ...(to && { to }) } }
}

function listed(ids: readonly string[]): PurgeFilter {
  const filter: Partial<Record<List, string[]>> = {}
  for (const id of ids) {
    const list = LISTS[id.split('_')[0] ?? '']
    if (list === undefined) throw new ApiError(0, { type: 'invalid_request_error', message: unknown(id) })
    filter[list] = [...(filter[list] ?? []), id]
  }
  return filter
}

const unknown = (id: string) => `'ids' must begin with ${Object.keys(LISTS).join('_, ')}_; ${id} does not.`

/** `3 sessions`, `what key_1 left, from Nov 17 …`, `everything`. */
export function filterWords(filter: PurgeFilter): string {
  if (filter.everything) return 'everything'
  const lists = Object.values(LISTS).flatMap((list) => {
    const ids = filter[list]
    return ids ? [ids.length === 1 ? (ids[0] ?? '') : `${count(ids.length)} ${list.replace('_ids', 's')}`] : []
  })
  return [
    ...lists,
    ...(filter.key_id === undefined ? [] : [`of ${filter.key_id}`]),
    ...(filter.from === undefined ? [] : [`from ${moment(filter.from)}`]),
    ...(filter.to === undefined ? [] : [`until ${moment(filter.to)}`]),
  ].join(', ')
}

function kindWords(kind: string, matched: number): string {
  if (kind === 'prefix_memory') return 'what is remembered of prompts' // one, and whole
  const words = kind.replaceAll('_', ' ')
  return matched === 1 ? `1 ${words.replace(/s$/, '')}` : `${count(matched)} ${words}`
}

/** `12 sessions, 340 traces`: what was counted, kind by kind; undefined until it was. */
export function matchedWords({ kinds }: Pick<PurgeJob, 'kinds'>): string | undefined {
  if (kinds.some(({ matched }) => matched === null)) return undefined
  const found = kinds.filter(({ matched }) => matched)
  if (found.length === 0) return 'nothing'
  return found.map(({ kind, matched }) => kindWords(kind, matched ?? 0)).join(', ')
}
