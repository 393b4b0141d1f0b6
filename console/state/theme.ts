// Light, dark, or as the system says. Only the choice is stored, nothing else of the console is.
import { useSyncExternalStore } from 'react'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const STORED_AS = 'switchyard.theme'
const listeners = new Set<() => void>()

/** Storage may be forbidden; then the choice lasts as long as the page. */
function stored(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(STORED_AS)) ?? 'system'
  } catch {
    return 'system'
  }
}

let current: Theme = stored()

export function setTheme(theme: Theme): void {
  current = theme
  try {
    localStorage.setItem(STORED_AS, theme)
  } catch {
    // What cannot be kept is applied all the same.
  }
  applyTheme()
  for (const listener of listeners) listener()
}

export function applyTheme(): void {
  if (current === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = current
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useTheme = () => useSyncExternalStore(subscribe, () => current)
