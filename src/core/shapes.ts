// Shapes that several resources share. A shape is declared once and is at the same time the TypeScript type,
// the validator, the serializer and the OpenAPI text. Bodies are open: unknown fields are ignored (R9).
import { type TSchema, Type } from 'typebox'
import { Refusal } from './refusal.ts'

export const LABEL_MAX = 256 // R8

export const orNull = <S extends TSchema>(shape: S) => Type.Union([shape, Type.Null()])
export const time = () => Type.String({ format: 'date-time' })

/** A name that people gave (R8). The shape bounds it; `label()` trims it and refuses what nobody could read. */
export const Label = (description: string, maxLength = LABEL_MAX) =>
  Type.String({ minLength: 1, maxLength, description })

export const listOf = <S extends TSchema>(item: S) =>
  Type.Object({ object: Type.Literal('list'), data: Type.Array(item), has_more: Type.Boolean() })

export const ErrorEnvelope = Type.Object(
  {
    error: Type.Object({
      message: Type.String({ description: 'For people: names the field and what it must be.' }),
      type: Type.String({ description: 'The identifier to branch on.' }),
      code: Type.Optional(Type.String()),
    }),
  },
  { title: 'Error', description: 'Every answer that is not 2xx.' },
)

const INVISIBLE = /[\p{White_Space}\p{Default_Ignorable_Code_Point}]/gu

/** R8: trimmed; something must be left to see; nothing that a database or a replay would change. */
export function label(field: string, value: string): string {
  const trimmed = storable(field, value).trim()
  if (trimmed.replace(INVISIBLE, '') === '') throw new Refusal('invalid_request', `'${field}' must not be empty.`)
  return trimmed
}

/** PostgreSQL cannot hold a NUL; a lone surrogate becomes another character on its way through UTF-8. */
export function storable(field: string, value: string): string {
  if (value.includes('\0') || !value.isWellFormed())
    throw new Refusal('invalid_request', `'${field}' must be valid Unicode text without NUL characters.`)
  return value
}
