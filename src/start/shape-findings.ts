// What is wrong with the shape of a file, all of it: who mends one mistake after the other checks as often. TypeBox by
// itself stops at the eighth, since what strangers send could have any number.

import type { TSchema } from 'typebox'
import { Settings } from 'typebox/system'
import { Check, Errors } from 'typebox/value'

export type Finding = ReturnType<typeof Errors>[number]

const FINDINGS_MAX = 1_000 // more than anybody reads

/** Of a field that nobody knows it is told at the field, and not at what lies around it too. */
export function findingsOf(shape: TSchema, value: unknown): Finding[] {
  if (Check(shape, value)) return []
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: FINDINGS_MAX })
  try {
    return [...Errors(shape, value)].filter(({ keyword }) => keyword !== 'additionalProperties')
  } finally {
    Settings.Set({ maxErrors })
  }
}
