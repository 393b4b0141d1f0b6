// What a page shows, kept behind the `?` of its address: it can be shared, reloaded, and gone back from.
import { useCallback, useMemo } from 'react'
import { navigate, usePath, useSearch } from './navigation.tsx'

export interface AddressQuery {
  params: URLSearchParams
  /** `undefined` and empty texts leave the address. */
  change(changes: Readonly<Record<string, string | undefined>>, how?: { replace?: boolean }): void
}

export function useAddressQuery(): AddressQuery {
  const [path, search] = [usePath(), useSearch()]
  const params = useMemo(() => new URLSearchParams(search), [search])
  const change = useCallback(
    (changes: Readonly<Record<string, string | undefined>>, { replace = false } = {}) => {
      const text = changedQuery(search, changes)
      navigate(text === '' ? path : `${path}?${text}`, { stay: true, replace })
    },
    [path, search],
  )
  return { params, change }
}

export function changedQuery(search: string, changes: Readonly<Record<string, string | undefined>>): string {
  const params = new URLSearchParams(search)
  for (const [name, value] of Object.entries(changes))
    if (value === undefined || value === '') params.delete(name)
    else params.set(name, value)
  return params.toString()
}
