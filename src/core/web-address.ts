// R12: the form of an address that people give us to dial. Whether it may be dialled is decided at connect time, on
// the resolved address.
import { Type } from 'typebox'
import { Refusal } from './refusal.ts'
import { storable } from './shapes.ts'

const ADDRESS_MAX = 2_048

export const WebAddress = (description: string) => Type.String({ maxLength: ADDRESS_MAX, description })

/** The address as it was written, where it is absolute http or https and carries nothing that a dial would drop. */
export function webAddress(field: string, address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const [, authority] = /^https?:\/\/([^/?#\\]+)/i.exec(address) ?? []
  const wrong = (must: string) => new Refusal('invalid_request', `'${field}' must ${must}.`)
  // Blanks and line breaks would be dropped by the parser: what is dialled would not be what was written.
  if (!url || !authority || /[\s\p{Cc}]/u.test(address)) throw wrong('be an absolute http or https address')
  if (authority.includes('@')) throw wrong('not carry credentials')
  if (address.includes('#')) throw wrong('not have a fragment')
  if (url.port === '0') throw wrong('not use port 0')
  return storable(field, address)
}
