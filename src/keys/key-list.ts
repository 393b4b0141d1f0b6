// §4.2: which keys are asked for: all of them, the children of one (R64), or a page after another.
import { type Static, Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import { storable } from '../core/shapes.ts'
import { wholeNumber } from '../core/text-values.ts'

const LIMIT_MAX = 1_000

export const KeyQuery = Type.Object({
  limit: Type.Optional(Type.String({ description: `How many keys at most, 1 to ${LIMIT_MAX}. Without it, all.` })),
  after: Type.Optional(
    Type.String({ description: 'The next page: keys older than the one of this id, the last of a page.' }),
  ),
  parent_id: Type.Optional(Type.String({ description: 'Only children of this key.' })),
  sha256: Type.Optional(
    Type.String({
      description:
        'Only the key whose secret, or the one before its last rotation, has this SHA-256, in base64url: whose a ' +
        'leaked secret is, without sending it. A revoked key has none.',
    }),
  ),
})

export interface KeyQuestion {
  limit: number | undefined
  /** The id of a key that the page begins after. */
  after: string | undefined
  parent_id: string | undefined
  sha256: string | undefined
}

/** Where a key stands in the list. */
export interface KeyPlace {
  sequence: number
  id: string
}

export function keyQuestion({ limit, after, parent_id, sha256 }: Static<typeof KeyQuery>): KeyQuestion {
  return {
    limit: limit === undefined ? undefined : wholeNumber('limit', limit, { minimum: 1, maximum: LIMIT_MAX }),
    after: after === undefined ? undefined : storable('after', after),
    parent_id: parent_id === undefined ? undefined : storable('parent_id', parent_id),
    sha256: sha256 === undefined ? undefined : digest(sha256),
  }
}

function digest(text: string): string {
  if (!/^[\w-]{43}$/.test(text))
    throw new Refusal('invalid_request', "'sha256' must be a SHA-256 in base64url: 43 characters, without padding.")
  return text
}

/** A cursor names a key of the project: whatever else it is, it is no place in this list. */
export function placed(place: KeyPlace | undefined): KeyPlace {
  if (!place) throw new Refusal('invalid_request', "'after' must be the id of an API key of this project.")
  return place
}
