// A value for each kind of shape.
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { sampleOf } from './sample-value.ts'

test('0200 a sample has every field of its shape, and where there is a choice the last one, or null', () => {
  const shape = Type.Object({
    name: Type.String(),
    count: Type.Optional(Type.Integer()),
    is_on: Type.Boolean(),
    kind: Type.Literal('a'),
    list: Type.Array(Type.Object({ micros: Type.Number() })),
    either: Type.Union([Type.String(), Type.Object({ id: Type.String() })]),
    perhaps: Type.Union([Type.Null(), Type.String()]),
    at: Type.String({ format: 'date-time' }),
    both: Type.Intersect([Type.Object({ x: Type.Null() }), Type.Object({ y: Type.String() })]),
    any: Type.Unknown(),
    open: Type.Record(Type.String(), Type.String()),
  })
  expect(sampleOf(shape)).toEqual({
    ...{
      name: '',
      count: 0,
      is_on: false,
      kind: 'a',
      list: [{ micros: 0 }],
      either: { id: '' },
      both: { x: null, y: '' },
    },
    ...{ any: {}, open: {}, perhaps: null, at: '1970-01-01T00:00:00.000Z' },
  })
  expect(sampleOf({ type: ['string', 'null'] })).toBe('')
  expect(sampleOf({ enum: ['x', 'y'] })).toBe('x')
})
