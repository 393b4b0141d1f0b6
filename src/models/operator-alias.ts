// R83: an alias that stands in switchyard.yaml, for all projects. A project's own of the same name wins. Changing it is
// changing the file, so its release is named by what it says: the same targets are the same release, wherever they run.
import { hash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { type AliasTarget, isAliasName, NAME_WORDS, WEIGHT_MAX } from './alias.ts'
import { Boundary } from './boundary.ts'

const closed = { additionalProperties: false }
const RELEASE_HEX = 32

export const OperatorAliasShape = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 64, description: 'What requests call it.' }),
    boundary: Type.Optional(Boundary),
    targets: Type.Array(
      Type.Object(
        {
          provider: Type.String({ minLength: 1, maxLength: 64, description: 'The id of a provider of this file.' }),
          model: Type.String({ minLength: 1, maxLength: 256, description: 'A model that it lists.' }),
          weight: Type.Integer({ minimum: 0, maximum: WEIGHT_MAX, default: 1, description: '0 stands by.' }),
        },
        closed,
      ),
      { minItems: 1, maxItems: 32 },
    ),
  },
  closed,
)
export type OperatorAliasShape = Static<typeof OperatorAliasShape>

export interface OperatorAlias {
  name: string
  release_id: string
  targets: readonly AliasTarget[]
  boundary: Boundary | undefined
}

/** What the file's providers serve. */
interface Serving {
  id: string
  unlisted_models: boolean
  models: readonly { id: string }[]
}

type Wrong = (field: string, message: string) => void

/** What is wrong is told, all of it; the result is of use only where nothing was. */
export function operatorAlias(shape: OperatorAliasShape, providers: readonly Serving[], wrong: Wrong): OperatorAlias {
  const { name, boundary } = shape
  if (!isAliasName(name)) wrong('name', `'${name}' must be made of ${NAME_WORDS}`)
  const targets = shape.targets.map(({ provider, model, weight }) => ({ provider, model, weight }))
  for (const [at, { provider, model }] of targets.entries()) {
    const known = providers.find(({ id }) => id === provider)
    if (!known) wrong(`targets/${at}/provider`, `'${provider}' is not a provider of this file`)
    else if (!known.unlisted_models && !known.models.some(({ id }) => id === model))
      wrong(`targets/${at}/model`, `'${provider}' does not list '${model}'`)
  }
  if (targets.every(({ weight }) => weight === 0)) wrong('targets', 'at least one needs a weight above 0')
  const release_id = `alr_${hash('sha256', JSON.stringify([name, targets]), 'hex').slice(0, RELEASE_HEX)}`
  return { name, release_id, targets, boundary }
}
