// What ids are called, for lists of what was done: people by their address, keys, clusters and whatever else by name.
// What is gone, or was never named, keeps its id.
import { useCallback, useMemo } from 'react'
import { listClusters } from '../api/cluster-calls.ts'
import { findKey } from '../api/key-calls.ts'
import { listChannels } from '../api/notification-calls.ts'
import { listAliases } from '../api/routing-calls.ts'
import { listCredentials, listMembers, listSubscriptions } from '../api/settings-calls.ts'
import { useResource } from './resource.ts'

type Name = readonly [id: string, name: string]

interface Named {
  id: string
  name?: string
  email?: string | undefined
  plan?: string
}

/** By how ids begin. There are few of each, so they come as a list; keys are asked for one by one. */
const LISTS: readonly { begins: readonly string[]; list(signal: AbortSignal): Promise<readonly Named[]> }[] = [
  { begins: ['usr_', 'inv_'], list: listMembers },
  { begins: ['byc_'], list: listClusters },
  { begins: ['als_'], list: listAliases },
  { begins: ['nch_'], list: listChannels },
  { begins: ['pcr_'], list: listCredentials },
  { begins: ['sub_'], list: (signal) => listSubscriptions(undefined, signal) },
]
const KEYS_MAX = 40

export function useNamesOf(ids: readonly (string | null | undefined)[]): ReadonlyMap<string, string> {
  const asked = [...new Set(ids.filter((id) => typeof id === 'string'))].join('\n')
  const { state } = useResource(
    useCallback((signal: AbortSignal) => namesOf(asked.split('\n'), signal), [asked]),
    { keep: true },
  )
  return useMemo(() => new Map(state.kind === 'ready' ? state.value : []), [state])
}

async function namesOf(ids: readonly string[], signal: AbortSignal): Promise<Name[]> {
  const wanted = LISTS.filter(({ begins }) => ids.some((id) => begins.some((start) => id.startsWith(start))))
  const listed = wanted.map(({ list }) => list(signal).catch(() => []))
  const keys = ids
    .filter((id) => id.startsWith('key_'))
    .slice(0, KEYS_MAX)
    .map((id) => findKey(id, signal).then(Array.of, () => []))
  const all: Named[] = (await Promise.all([...listed, ...keys])).flat()
  return all.flatMap(({ id, name, email, plan }) => {
    const called = name ?? email ?? plan
    return called === undefined ? [] : [[id, called] as const]
  })
}
