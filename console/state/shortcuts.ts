// Keys of the keyboard: single ones, and two in a row such as `g k`. Never while somebody types or a dialog is open.
import { useEffect, useRef } from 'react'

export interface Shortcut {
  keys: string
  meaning: string
}

interface Registered extends Shortcut {
  run(): void
}

const FOLLOWS_WITHIN_MS = 1_000
const registered = new Set<Registered>()
let pending: { key: string; until_ms: number } | undefined

export function useShortcut(keys: string, meaning: string, run: () => void): void {
  const latest = useRef(run)
  latest.current = run
  useEffect(() => {
    const one: Registered = { keys, meaning, run: () => latest.current() }
    registered.add(one)
    return () => void registered.delete(one)
  }, [keys, meaning])
}

/** What works on this page, for the help. */
export const knownShortcuts = (): Shortcut[] => [...registered].map(({ keys, meaning }) => ({ keys, meaning }))

export function listenForShortcuts(): () => void {
  window.addEventListener('keydown', onKey)
  return () => window.removeEventListener('keydown', onKey)
}

function onKey(event: KeyboardEvent): void {
  if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
  const before = pending && event.timeStamp <= pending.until_ms ? `${pending.key} ` : ''
  pending = undefined
  const pressed = `${before}${event.key}`
  const hit = [...registered].find(({ keys }) => keys === pressed)
  if (hit) {
    event.preventDefault()
    hit.run()
  } else if ([...registered].some(({ keys }) => keys.startsWith(`${event.key} `)))
    pending = { key: event.key, until_ms: event.timeStamp + FOLLOWS_WITHIN_MS }
}

function isTyping(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]')) return true
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
}
