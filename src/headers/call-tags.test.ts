// What a call is filed under, out of a header and a body.
import { expect, test } from 'vitest'
import { type Tag, tagsOf, tagText } from './call-tags.ts'

const texts = (tags: readonly Tag[] | undefined) => tags?.map(tagText)

test.each([
  ['team=search, run=42', ['team=search', 'run=42']],
  [' Team = search ', ['team=search']],
  ['a=b=c', ['a=b=c']],
  ['team=größe', ['team=größe']],
  [
    ['team=search', 'run=42'],
    ['team=search', 'run=42'],
  ],
  ['', undefined],
])('§tags the header %j', (header, tags) => {
  expect(texts(tagsOf(header as string, {}))).toEqual(tags)
})

test.each([
  'team',
  '=search',
  'team=',
  'te am=x',
  'team=a, team=b',
  `team=${'x'.repeat(129)}`,
  `${'n'.repeat(65)}=x`,
  Array.from({ length: 9 }, (_, n) => `t${n}=x`).join(','),
  'team=a\u0007b',
])('§tags a header that cannot be meant is 400, since a budget may hang on it: %j', (header) => {
  expect(() => tagsOf(header, {})).toThrow("'Agent-Tags' must")
})

test('§tags the fields of the body in which clients name whom they ask for; the header goes before them', () => {
  const body = { user: 'ada', safety_identifier: 'h1', metadata: { Team: 'search', run: 'x', n: 4, 'bad name': 'x' } }
  expect(texts(tagsOf(undefined, body))).toEqual(['user=ada', 'safety_identifier=h1', 'team=search', 'run=x'])
  expect(texts(tagsOf('team=core', body))).toEqual(['team=core', 'user=ada', 'safety_identifier=h1', 'run=x'])
})

test('§tags what of a body is no tag is left out: it is for the upstream first', () => {
  const long = { user: 'x'.repeat(500), metadata: { a: 'has,comma', b: '', c: null } }
  expect(tagsOf(undefined, long)).toBeUndefined()
  const many = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`k${n}`, 'v']))
  expect(tagsOf('team=core', { metadata: many })).toHaveLength(8)
  for (const metadata of [[], 'x', 4, null]) expect(tagsOf(undefined, { metadata })).toBeUndefined()
})

test('§tags a call that says nothing has none', () => {
  expect(tagsOf(undefined, { model: 'x' })).toBeUndefined()
})

test('§4.18 one tag, as a budget spells it, whether a client writes its header as UTF-8 or as Latin-1', () => {
  for (const encoding of ['utf8', 'latin1'] as const) {
    const header = Buffer.from('team=Zürich', encoding).toString('latin1') // as Node hands it to us
    expect(tagsOf(header, {})).toEqual([{ name: 'team', value: 'Zürich' }])
  }
})
