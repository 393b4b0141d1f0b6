// What the text of a setting stands for, or what it must be instead.
import { type Cidr, parseCidr } from '../core/ip-address.ts'

export class SettingError extends Error {
  override readonly name = 'SettingError'
}

export const mustBe = (what: string) => new SettingError(`must ${what}`)

export function integer(text: string, minimum: number, maximum: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= minimum && value <= maximum)) throw mustBe(`be a whole number from ${minimum} to ${maximum}`)
  return value
}

/** A number of hops or `true` is refused: either would believe whatever a client writes. */
export function cidrs(text: string): Cidr[] {
  if (text === '') return []
  return text.split(',').map((one) => {
    const cidr = parseCidr(one.trim())
    if (!cidr) throw mustBe('list CIDRs such as 10.0.0.0/8 or 192.0.2.7/32, with commas between them')
    return cidr
  })
}
