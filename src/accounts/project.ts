// A project as its own keys see it: what it may spend, what it has spent, and where its requests may go.
import { type Static, Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import { Label, label, orNull, time } from '../core/shapes.ts'
import { SpendingLimit } from '../core/spending-limit.ts'
import { Boundary } from '../models/boundary.ts'

const REGIONS_MAX = 64
const REGIONS_TOLD = 50

export const ProjectCap = Type.Object(
  {
    limit_usd: SpendingLimit.properties.limit_usd,
    overage_enabled: Type.Optional(
      Type.Boolean({
        description: 'Whether calls go on above the cap. What is above it is `overage_micros` in usage.',
      }),
    ),
  },
  { title: 'ProjectCap' },
)

export const ProjectBoundary = Type.Object({ boundary: Boundary }, { title: 'ProjectBoundary' })

export const ProjectRecordings = Type.Object(
  { enabled: Type.Boolean({ description: 'Whether the exact bytes of every generation are kept for reading back.' }) },
  { title: 'ProjectRecordings' },
)

export const ProjectSecondFactor = Type.Object(
  {
    required: Type.Boolean({
      description: 'Whether who signs in with a password needs a second factor to see the project.',
    }),
  },
  { title: 'ProjectSecondFactor' },
)

/** 0365: whoever asks it of others has it. */
export const firstYourOwn = () =>
  new Refusal(
    'invalid_request',
    "'required' must be false until you have a second factor yourself: without it you would be kept out, too.",
  )

/** The operator decides whether contents are kept at all. */
export const notRecording = () =>
  new Refusal(
    'invalid_request',
    "'enabled' must be false: the operator of this server lets nobody record calls (retention.full_fidelity).",
  )

export const ProjectState = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `prj_`.' }),
    object: Type.Literal('project'),
    name: Type.String(),
    owner_verified: Type.Boolean({ description: 'Whether the owner’s e-mail address is verified.' }),
    created_at: time(),
    cap_micros: Type.Optional(Type.Integer({ description: 'Spending cap in micro-USD; absent without a cap.' })),
    operator_cap_micros: Type.Optional(
      Type.Integer({ description: 'What the operator lets it spend; absent without such a cap. The lower cap binds.' }),
    ),
    suspended_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'Since when the operator serves it nothing; absent otherwise.' }),
    ),
    is_operator: Type.Optional(
      Type.Literal(true, { description: 'It is the project of the first start: its admins run the service.' }),
    ),
    overage_enabled: Type.Boolean({
      description: 'With overage the cap refuses nothing: what is above it is counted.',
    }),
    spent_micros: Type.Integer(),
    held_micros: Type.Integer({ description: 'Set aside for generations that are under way.' }),
    boundary: Boundary,
    recordings_enabled: Type.Boolean({
      description: 'Whether its generations are recorded, as far as the operator lets it (`retention.full_fidelity`).',
    }),
    second_factor_required: Type.Boolean({
      description: 'Whether who signs in with a password needs a second factor to see it.',
    }),
    allowed_regions: Type.Optional(
      Type.Array(Type.String(), { description: 'Where requests may go; absent where any region will do.' }),
    ),
  },
  { title: 'Project' },
)
export type ProjectState = Static<typeof ProjectState>

export const ProjectName = Type.Object({ name: Label('What people call it.') }, { title: 'ProjectName' })

/** 0162: of the owner's own projects alone. Other people's names are not for everybody to know. */
export const nameTaken = (name: string) =>
  new Refusal('invalid_request', `'name' must be another one: the owner has a project '${name}' already.`)

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

/** R40: a region that nothing is in would refuse every call; most often it is a misspelling. */
export function assertRegionsExist(regions: readonly string[] | null, known: readonly string[]): void {
  const there = new Set(known)
  const at = regions?.findIndex((region) => !there.has(region)) ?? -1
  if (at < 0) return
  const names = [...there]
    .sort()
    .slice(0, REGIONS_TOLD)
    .map((region) => `'${region}'`)
  throw new Refusal(
    'invalid_request',
    `'allowed_regions[${at}]' must be the region of a provider, or of a cluster or credential of this project: ` +
      `${names.join(', ')}${there.size > names.length ? ', …' : ''}.`,
  )
}
