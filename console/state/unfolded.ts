// Which parts of which pages somebody unfolded on a phone: who comes back to a page finds it as it was left.
const KEPT_MAX = 200

const kept = new Set<string>()

const nameOf = (part: string) => `${location.pathname}\n${part}`

export const wasUnfolded = (part: string) => kept.has(nameOf(part))

export function noteUnfolded(part: string, is_open: boolean): void {
  const name = nameOf(part)
  kept.delete(name)
  if (!is_open) return
  if (kept.size >= KEPT_MAX) kept.delete(kept.keys().next().value ?? '')
  kept.add(name)
}
