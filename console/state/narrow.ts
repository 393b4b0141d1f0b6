// Whether the screen is as narrow as a phone's, as the styles see it.
import { useSyncExternalStore } from 'react'

let known: MediaQueryList | undefined

function phone(): MediaQueryList {
  known ??= window.matchMedia('(max-width: 47.99rem)')
  return known
}

function subscribe(listener: () => void): () => void {
  phone().addEventListener('change', listener)
  return () => phone().removeEventListener('change', listener)
}

export const useIsNarrow = () => useSyncExternalStore(subscribe, () => phone().matches)
