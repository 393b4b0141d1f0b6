// R50: what one replica may let through of a limit while it cannot ask the others. The shares of all replicas together
// are the limit, to the last one: what does not divide evenly goes to those that come first.

/** Which of the replicas this one is, from 0. */
export interface Place {
  rank: number
  replicas: number
}

export const ALONE: Place = { rank: 0, replicas: 1 }

export function shareOf(limit: number, { rank, replicas }: Place): number {
  return Math.floor(limit / replicas) + (rank < limit % replicas ? 1 : 0)
}

/** Where a replica stands among those that live. One that is not yet on record counts itself in. */
export function placeAmong(living: readonly string[], own: string): Place {
  const all = living.includes(own) ? [...living] : [...living, own]
  return { rank: all.sort().indexOf(own), replicas: all.length }
}
