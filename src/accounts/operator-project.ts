// R79: a project as whoever runs the service sees it, and what they may set for it.
import { type Static, Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import { Label, time } from '../core/shapes.ts'
import { SpendingLimit } from '../core/spending-limit.ts'
import { CreatedKey } from '../keys/key.ts'

const SHARE_MAX = 1_000

const Share = Type.Integer({
  minimum: 1,
  maximum: SHARE_MAX,
  description: 'What it weighs where several projects ask for the same slots. 1 unless it was set.',
})

export const OperatorProject = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `prj_`.' }),
    object: Type.Literal('project'),
    name: Type.String(),
    status: Type.Enum(['active', 'suspended']),
    suspended_at: Type.Optional(time()),
    is_operator: Type.Optional(
      Type.Literal(true, { description: 'It is the project of the first start: its admins run the service.' }),
    ),
    owner_email: Type.String(),
    owner_verified: Type.Boolean(),
    created_at: time(),
    operator_cap_micros: Type.Optional(
      Type.Integer({ description: 'What the operator lets it spend, in micro-USD; absent without such a cap.' }),
    ),
    cap_micros: Type.Optional(Type.Integer({ description: 'Its own cap; absent without one. The lower binds.' })),
    overage_enabled: Type.Boolean({ description: 'Its own cap refuses nothing. The operator’s always does.' }),
    share: Share,
    spent_micros: Type.Integer({ description: 'All that was ever charged to it.' }),
    held_micros: Type.Integer({ description: 'Set aside for generations that are under way.' }),
  },
  { title: 'OperatorProject' },
)
export type OperatorProject = Static<typeof OperatorProject>

export const NewOperatorProject = Type.Object(
  {
    name: Label('What people call it.'),
    owner_email: Label('Whom it belongs to.'),
    verified: Type.Optional(
      Type.Boolean({ description: 'The address is known to be the owner’s. Without it the project creates no keys.' }),
    ),
  },
  { title: 'NewOperatorProject' },
)
export type NewOperatorProject = Static<typeof NewOperatorProject>

export const CreatedProject = Type.Object(
  {
    ...OperatorProject.properties,
    api_key: Type.Object(CreatedKey.properties, { description: 'Its admin key. `key` is shown here, once.' }),
  },
  { title: 'CreatedOperatorProject' },
)

export const OperatorCap = Type.Object({ limit_usd: SpendingLimit.properties.limit_usd }, { title: 'OperatorCap' })

export const ProjectShare = Type.Object({ share: Share }, { title: 'ProjectShare' })

/** Whoever suspends it could not resume it any more, but from the machine itself. */
export const operatorsOwn = () =>
  new Refusal('invalid_request', 'This is the project that runs the service. It cannot be suspended.')
