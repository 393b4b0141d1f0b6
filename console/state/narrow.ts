// Whether the screen is as narrow as a phone's, as the styles see it.
import { useSyncExternalStore } from 'react'

const phone = window.matchMedia('(max-width: 47.99rem)')

function subscribe(listener: () => void): () => void {
  phone.addEventListener('change', listener)
  return () => phone.removeEventListener('change', listener)
}

export const useIsNarrow = () => useSyncExternalStore(subscribe, () => phone.matches)
