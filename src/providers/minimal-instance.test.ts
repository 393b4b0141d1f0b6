// The smallest value of a schema: valid where the schema can be satisfied simply, and never endless.
import { Check } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { minimalInstance } from './minimal-instance.ts'

describe('R53 the smallest value', () => {
  test.each([
    ['nothing said', {}, {}],
    ['a text', { type: 'string' }, ''],
    ['a text of some length', { type: 'string', minLength: 3 }, 'xxx'],
    ['an address', { type: 'string', format: 'email' }, 'nobody@example.com'],
    ['a whole number', { type: 'integer' }, 0],
    ['at least', { type: 'integer', minimum: 3 }, 3],
    ['more than', { type: 'integer', exclusiveMinimum: 3 }, 4],
    ['more than, in fractions', { type: 'number', exclusiveMinimum: 3 }, 3.5],
    ['at most, below zero', { type: 'integer', maximum: -2 }, -2],
    ['a multiple', { type: 'integer', minimum: 10, multipleOf: 7 }, 14],
    ['true or false', { type: 'boolean' }, false],
    ['null', { type: 'null' }, null],
    ['one of several', { enum: ['b', 'a'] }, 'b'],
    ['exactly one', { const: 5 }, 5],
    ['several types', { type: ['string', 'null'] }, ''],
    ['an empty list', { type: 'array', items: { type: 'string' } }, []],
    ['a list of some length', { type: 'array', minItems: 2, items: { type: 'integer' } }, [0, 0]],
    ['alternatives', { anyOf: [{ type: 'integer' }, { type: 'string' }] }, 0],
    [
      'only what is required',
      { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a'] },
      { a: '' },
    ],
    ['a definition', { $ref: '#/$defs/a', $defs: { a: { type: 'boolean' } } }, false],
    [
      'all of several',
      {
        allOf: [{ properties: { a: { type: 'null' } }, required: ['a'] }, { $ref: '#/$defs/b' }],
        $defs: { b: { properties: { b: { const: 1 } }, required: ['b'] } },
      },
      { a: null, b: 1 },
    ],
  ])('%s', (_case, schema, value) => {
    expect(minimalInstance(schema)).toEqual(value)
  })

  test('is valid for a schema as tools have them', () => {
    const schema = {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1 },
        limit: { type: 'integer', minimum: 1, maximum: 50 },
        filters: {
          type: 'array',
          minItems: 1,
          items: { type: 'object', properties: { op: { enum: ['eq', 'lt'] } }, required: ['op'] },
        },
      },
      required: ['query', 'limit', 'filters'],
      additionalProperties: false,
    }
    expect(Check(schema, minimalInstance(schema))).toBe(true)
  })
})

describe('T-34 a schema made to do harm', () => {
  const itself = { $ref: '#/$defs/a' }
  test.each([
    ['contains itself', { ...itself, $defs: { a: { type: 'object', properties: { a: itself }, required: ['a'] } } }],
    [
      'contains itself many times',
      {
        ...itself,
        $defs: {
          a: {
            required: [...'abcdefghij'],
            properties: Object.fromEntries([...'abcdefghij'].map((name) => [name, itself])),
          },
        },
      },
    ],
    ['refers to itself', { $ref: '#' }],
    ['wants a list without end', { type: 'array', minItems: 1e12, items: {} }],
    ['wants a text without end', { type: 'string', minLength: 1e12 }],
    ['refers to nothing', { $ref: '#/$defs/none' }],
    ['refers to a prototype', { $ref: '#/__proto__/constructor' }],
    ['steps by nothing', { type: 'number', multipleOf: 0, minimum: 1 }],
    ['is no schema', null],
    ['has no names', { type: 'object', required: [null, 5, { a: 1 }] }],
    ['requires a prototype', { type: 'object', required: ['__proto__'] }],
  ])('%s: something comes out, soon', (_case, schema) => {
    expect(JSON.stringify(minimalInstance(schema)).length).toBeLessThan(100_000)
  })
})
