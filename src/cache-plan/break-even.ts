// §4.9: at which prefix lengths a fetch wins. The gain falls at first and rises later, or does only one of the two, so
// it changes its sign at most twice. Found by halving on the true costs, in pages, since caches hold whole pages.
export const PREFIX_TOKENS_MIN = 256 // below it engines do not prefetch at all
const PAGE_TOKENS = 64
const PAGE_MIN = PREFIX_TOKENS_MIN / PAGE_TOKENS
const PAGE_MAX = 16_777_216 / PAGE_TOKENS

export interface Lengths {
  /** What fetching saves, ms; negative where it loses. */
  gainAt(tokens: number): number
  /** Where the gain is at its least. */
  turning_tokens: number
}

export interface Interval {
  from_tokens: number
  /** Null: and any longer one. */
  to_tokens: number | null
}

/** In pages of 64 tokens, from 256 up to 16,777,216. */
export function winningLengths({ gainAt, turning_tokens }: Lengths): Interval[] {
  const wins = (page: number) => gainAt(page * PAGE_TOKENS) > 0
  const turn = Math.min(PAGE_MAX, Math.max(PAGE_MIN, Math.round(turning_tokens / PAGE_TOKENS)))
  // While it falls: from the shortest to the last that wins. While it rises: from the first that wins on.
  const last_of_falling = wins(turn) ? turn : lastOf(PAGE_MIN, turn, wins)
  const first_of_rising = wins(turn) ? turn : firstOf(turn, PAGE_MAX, wins)
  const from = PAGE_MIN * PAGE_TOKENS
  if (last_of_falling !== undefined && first_of_rising === last_of_falling)
    return [{ from_tokens: from, to_tokens: null }]
  const falling = last_of_falling === undefined ? [] : [{ from_tokens: from, to_tokens: last_of_falling * PAGE_TOKENS }]
  const rising = first_of_rising === undefined ? [] : [{ from_tokens: first_of_rising * PAGE_TOKENS, to_tokens: null }]
  return [...falling, ...rising]
}

/** From here on every longer prefix wins as well. */
export const breakEvenOf = (wins: readonly Interval[]): number | null =>
  wins.find(({ to_tokens }) => to_tokens === null)?.from_tokens ?? null

type Wins = (page: number) => boolean

/** The first that wins, where the later ones win as well; undefined where even the last does not. */
function firstOf(low: number, high: number, wins: Wins): number | undefined {
  if (!wins(high)) return undefined
  let [below, above] = [low, high]
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2)
    if (wins(middle)) above = middle
    else below = middle
  }
  return wins(below) ? below : above
}

/** The last that wins, where the earlier ones win as well; undefined where even the first does not. */
function lastOf(low: number, high: number, wins: Wins): number | undefined {
  if (!wins(low)) return undefined
  let [below, above] = [low, high]
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2)
    if (wins(middle)) below = middle
    else above = middle
  }
  return below
}
