// §9.4: a name of the project's own that stands for models elsewhere. What it stands for is said by releases, which
// never change; the alias points at one of them, and rolling back is pointing at an older one.
import { hash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { Label, label, orNull, storable, time } from '../core/shapes.ts'
import { Boundary } from './boundary.ts'
import { ReleaseEvidence } from './release-evidence.ts'

const NAME_MAX = 64
const TARGETS_MAX = 32
export const WEIGHT_MAX = 1_000
const ID_MAX = 64

const name = Type.String({
  minLength: 1,
  maxLength: NAME_MAX,
  description: 'Small letters, digits, `.`, `_`, `/` and `-`. In an address, `/` is written `%2F`.',
})

const model = Label('What the target calls the model.')
const weight = Type.Integer({ minimum: 0, maximum: WEIGHT_MAX })

const destinations = {
  provider: Type.Optional(Label('The id of a provider of this server.')),
  cluster_id: Type.Optional(Type.String({ maxLength: ID_MAX, description: 'One of the project’s clusters.' })),
  credential_id: Type.Optional(Type.String({ maxLength: ID_MAX, description: 'One of its provider credentials.' })),
}

export const AliasTarget = Type.Object({ ...destinations, model, weight }, { title: 'AliasTarget' })
export type AliasTarget = Static<typeof AliasTarget>

export const Alias = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `als_`.' }),
    object: Type.Literal('alias'),
    project_id: Type.String(),
    name,
    current_release_id: Type.String({ description: 'The release that requests resolve to. Begins `alr_`.' }),
    boundary: Type.Optional(Boundary),
    created_at: time(),
    updated_at: time(),
  },
  { title: 'Alias' },
)
export type Alias = Static<typeof Alias>

export const AliasRelease = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `alr_`.' }),
    object: Type.Literal('alias_release'),
    project_id: Type.String(),
    alias_id: Type.String(),
    alias_name: Type.String(),
    version: Type.Integer({ description: 'Counts up from 1 within an alias.' }),
    targets: Type.Array(AliasTarget),
    evidence: Type.Optional(ReleaseEvidence),
    created_at: time(),
  },
  { title: 'AliasRelease' },
)
export type AliasRelease = Static<typeof AliasRelease>

export const DeletedAlias = Type.Object(
  { id: Type.String(), object: Type.Literal('alias.deleted'), name: Type.String(), deleted: Type.Literal(true) },
  { title: 'DeletedAlias' },
)

const targets = Type.Array(
  Type.Object({ ...destinations, model, weight: Type.Optional(weight) }, { title: 'NewAliasTarget' }),
  {
    minItems: 1,
    maxItems: TARGETS_MAX,
    description:
      'Each names one of `provider`, `cluster_id` and `credential_id`. A request goes to one of them by `weight` ' +
      '(0 to 1000, 1 where it is left out); one of weight 0 stands by for when the others cannot take it.',
  },
)

const boundary = orNull(Boundary)

export const NewAlias = Type.Object({ name, targets, boundary: Type.Optional(boundary) }, { title: 'NewAlias' })
export type NewAlias = Static<typeof NewAlias>

export const NewAliasRelease = Type.Object(
  {
    targets,
    replay_run_id: Type.Optional(
      Type.String({
        maxLength: ID_MAX,
        description: 'A completed run of one of the targets; the release shows what it found.',
      }),
    ),
  },
  { title: 'NewAliasRelease' },
)
export type NewAliasRelease = Static<typeof NewAliasRelease>

export const AliasBoundary = Type.Object({ boundary }, { title: 'AliasBoundary' })

/** Which release it is, and nothing of what it says. */
export type NamedRelease = Pick<AliasRelease, 'id' | 'version'>

/** A release that has no version yet: the store counts them. */
export type UnnumberedRelease = Omit<AliasRelease, 'version'>

/** Of a target that names a provider: which field, and what it must be. */
export interface ProviderProblem {
  field: 'provider' | 'model'
  must: string
}

export interface FoundedAlias {
  alias: Alias
  release: AliasRelease
}

export function foundAlias(project_id: string, asked: NewAlias, now: number): FoundedAlias {
  const at = rfc3339(now)
  const id = newId('als')
  const release = { ...releaseOf({ id, project_id, name: aliasName(asked.name) }, asked, now), version: 1 }
  const alias: Alias = {
    id,
    object: 'alias',
    project_id,
    name: release.alias_name,
    current_release_id: release.id,
    ...(asked.boundary && { boundary: asked.boundary }),
    created_at: at,
    updated_at: at,
  }
  return { alias, release }
}

type AliasIdentity = Pick<Alias, 'id' | 'project_id' | 'name'>

export function releaseOf(
  alias: AliasIdentity,
  asked: Pick<NewAliasRelease, 'targets'>,
  now: number,
): UnnumberedRelease {
  return {
    id: newId('alr'),
    object: 'alias_release',
    project_id: alias.project_id,
    alias_id: alias.id,
    alias_name: alias.name,
    targets: checkTargets(asked.targets),
    created_at: rfc3339(now),
  }
}

const NAME = /^[a-z0-9._/-]*[a-z0-9][a-z0-9._/-]*$/

export const NAME_WORDS = "small letters, digits, '.', '_', '/' and '-', with a letter or digit among them"

/** A name of dots and slashes alone would be taken for a path by whatever stands between a client and us. */
export const isAliasName = (text: string) => NAME.test(text)

function aliasName(text: string): string {
  if (!isAliasName(text)) throw new Refusal('invalid_request', `'name' must be made of ${NAME_WORDS}.`)
  return text
}

function checkTargets(asked: NewAliasRelease['targets']): AliasTarget[] {
  const checked = asked.map((target, at) => {
    const { model, weight = 1 } = target
    return { ...destinationOf(target, `targets[${at}]`), model: label(`targets[${at}].model`, model), weight }
  })
  if (checked.every((target) => target.weight === 0))
    throw new Refusal('invalid_request', "'targets' must have at least one with a 'weight' above 0.")
  return checked
}

type Destination = Pick<AliasTarget, 'provider' | 'cluster_id' | 'credential_id'>

function destinationOf({ provider, cluster_id, credential_id }: Destination, at: string): Destination {
  const named = [provider, cluster_id, credential_id].filter((one) => one !== undefined)
  if (named.length !== 1)
    throw new Refusal('invalid_request', `'${at}' must name exactly one of 'provider', 'cluster_id', 'credential_id'.`)
  if (provider !== undefined) return { provider: label(`${at}.provider`, provider) }
  if (cluster_id !== undefined) return { cluster_id: storable(`${at}.cluster_id`, cluster_id) }
  return { credential_id: storable(`${at}.credential_id`, credential_id as string) }
}

const SEED_BYTES = 6 // 48 bits: a sum of weights divides them evenly enough that nobody could tell

/** By weight, and the same for the same seed: a request's trace id tells where it went, and why. */
export function pickTarget<T extends { weight: number }>(among: readonly T[], seed: string): T | undefined {
  const total = among.reduce((sum, target) => sum + target.weight, 0)
  if (total === 0) return undefined
  let left = hash('sha256', seed, 'buffer').readUIntBE(0, SEED_BYTES) % total
  return among.find((target) => {
    left -= target.weight
    return left < 0
  })
}
