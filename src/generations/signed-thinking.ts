// R81: thinking that a vendor signed can be read by that vendor alone. A conversation that has some stays with whoever
// speaks its protocol, and does not go on to another vendor when that one fails.
import { Refusal } from '../core/refusal.ts'
import { type Route, speaksMessages, type Target } from '../routing/target.ts'
import type { Asked } from './call.ts'

/** `answered_before` is the target that this conversation was last answered by, where that is known. */
export function keptToVendor(route: Route, asked: Asked, answered_before: string | undefined): Route {
  const { signed_at, model } = asked
  if (signed_at === undefined) return route
  const { candidates, dropped } = route
  const left = candidates.some(({ id }) => id === answered_before)
    ? undefined
    : dropped.find(({ target, kind }) => target === answered_before && kind === 'now')
  if (left) throw signerAway(signed_at, left.reason)
  const native = candidates.filter(speaksMessages)
  const first = native.find(({ id }) => id === answered_before) ?? native[0]
  if (!first) throw unreadable(signed_at, model)
  return { ...route, candidates: [first, ...native.filter((one) => one !== first && isSameVendor(one, first))] }
}

const isSameVendor = (one: Target, other: Target) => one.provider === other.provider || hostOf(one) === hostOf(other)

const hostOf = ({ dialling }: Target) => new URL(dialling.base_url).host

const signerAway = (at: string, reason: string) =>
  new Refusal(
    'unavailable',
    `'${at}' is thinking that only its own vendor can read, which cannot be asked now: ${reason}.`,
    {
      headers: { 'retry-after': '1' },
    },
  )

const unreadable = (at: string, model: string) =>
  new Refusal(
    'invalid_request',
    `'${at}' is thinking that its vendor signed, and no upstream of '${model}' speaks the protocol that can carry it.`,
  )
