// R78: which project may have a slot of a target that several share. A slot in use is never taken back, so the rule
// works where slots are given: some stay free for who has none, and what comes free goes to who has the least. Pure.
import { type Static, Type } from 'typebox'

const SHARE_MAX = 1_000
const USUAL_SHARE = 1

export const SharesShape = Type.Object(
  {
    projects: Type.Record(Type.String(), Type.Integer({ minimum: 1, maximum: SHARE_MAX }), {
      default: {},
      description: 'Shares of projects whose share is not 1.',
    }),
  },
  { additionalProperties: false, default: {} },
)
export type Shares = Static<typeof SharesShape>

export const usualShares = (): Shares => ({ projects: {} })

export const shareOf = ({ projects }: Shares, project_id: string): number =>
  Object.hasOwn(projects, project_id) ? (projects[project_id] ?? USUAL_SHARE) : USUAL_SHARE

const NOTED_MAX = 10_000 // projects whose share is not 1

/** R79: what the operator set for a project comes with its calls, and goes before what the file says. */
export function knownShares(file: Shares) {
  const noted = new Map<string, number>()
  return {
    note(project_id: string, share: number | undefined): void {
      if (share === undefined) {
        if (noted.size > 0) noted.delete(project_id)
        return
      }
      if (noted.size >= NOTED_MAX) noted.clear()
      noted.set(project_id, share)
    },
    of: (project_id: string): number => noted.get(project_id) ?? shareOf(file, project_id),
  }
}

/** What a project has of a target, and what it is to have of it beside others. */
export interface Holding {
  in_use: number
  share: number
}

export interface Pool {
  slots: number
  free: number
  /** How many of them are kept for who has none; see reserveOf. */
  reserve: number
  /** The shares of all who use the target, or did lately, the asker's included. */
  shares: number
  /** How many are kept for others, who had them in use lately; see claimOf. */
  claimed: number
}

/** One slot in ten, and at least one, where there are two. */
export const reserveOf = (slots: number): number => (slots < 2 ? 0 : Math.max(1, Math.floor(slots / 10)))

/**
 * Who has none in use takes any that is free. Who is below its share is lent half of the reserve as well. Who has its
 * share or more takes what is free beyond the reserve and beyond what others had in use lately: nothing else lies idle.
 */
export function mayTake(asker: Holding, pool: Pool): boolean {
  const { slots, free, reserve, claimed } = pool
  if (free < 1) return false
  if (asker.in_use === 0) return true
  // Somebody else may always come: alone, nobody's share is all of it.
  const shares = Math.max(pool.shares, asker.share + USUAL_SHARE)
  if (level(asker) < slots / shares) return free > Math.ceil(reserve / 2)
  return free > reserve + claimed
}

/** What is kept of a target for a project: what it had in use at once lately, up to its share, and has not now. */
export const claimOf = ({ in_use, share }: Holding, peak: number, { slots, shares }: Pick<Pool, 'slots' | 'shares'>) =>
  Math.max(0, Math.min(peak, Math.floor((slots * share) / shares)) - in_use)

/** Max-min: of those who wait, the lowest goes next. Whoever may take a slot, those below may as well. */
export const level = ({ in_use, share }: Holding): number => in_use / share
