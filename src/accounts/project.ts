// A project as its own keys see it: what it may spend, what it has spent, and where its requests may go.
import { type Static, Type } from 'typebox'
import { Label, label, orNull, time } from '../core/shapes.ts'

const REGIONS_MAX = 64

export const ProjectState = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `prj_`.' }),
    object: Type.Literal('project'),
    name: Type.String(),
    owner_verified: Type.Boolean({ description: 'Whether the owner’s e-mail address is verified.' }),
    created_at: time(),
    cap_micros: Type.Optional(Type.Integer({ description: 'Spending cap in micro-USD; absent without a cap.' })),
    spent_micros: Type.Integer(),
    held_micros: Type.Integer({ description: 'Set aside for generations that are under way.' }),
    allowed_regions: Type.Optional(
      Type.Array(Type.String(), { description: 'Where requests may go; absent where any region will do.' }),
    ),
  },
  { title: 'Project' },
)
export type ProjectState = Static<typeof ProjectState>

export const ProjectName = Type.Object({ name: Label('What people call it.') }, { title: 'ProjectName' })

export const RegionPolicy = Type.Object(
  {
    allowed_regions: orNull(
      Type.Array(Label('A region, as providers and clusters name it.'), {
        minItems: 1,
        maxItems: REGIONS_MAX,
        description: 'Requests go to no other region. Null lifts the restriction.',
      }),
    ),
  },
  { title: 'RegionPolicy' },
)
export type RegionPolicy = Static<typeof RegionPolicy>

/** Each once, in the order given; null where any region will do. */
export function allowedRegions({ allowed_regions }: RegionPolicy): string[] | null {
  return allowed_regions && [...new Set(allowed_regions.map((region, at) => label(`allowed_regions[${at}]`, region)))]
}
