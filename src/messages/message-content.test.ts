// R43: what a Messages request has beside its text, and what of it may be far more than its bytes.
import { expect, test } from 'vitest'
import { messageContent } from './message-content.ts'

const DATA = 'A'.repeat(1_000)
const pdf = { type: 'base64', media_type: 'application/pdf', data: DATA }
const contentOf = (...blocks: object[]) => messageContent({ messages: [{ role: 'user', content: blocks }] })

test.each([
  ['a PDF', { type: 'document', source: pdf }],
  ['a PDF that a tool gave', { type: 'tool_result', tool_use_id: 't', content: [{ type: 'document', source: pdf }] }],
  ['a PDF by its title', { type: 'document', title: 'a.pdf', source: { ...pdf, media_type: 'text/plain' } }],
  ['an Office document', { type: 'document', source: { ...pdf, media_type: 'application/msword' } }],
  ['a document of no type', { type: 'document', source: { type: 'base64', data: DATA } }],
  ['a document by its address', { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }],
  ['a film in the place of an image', { type: 'image', source: { ...pdf, media_type: 'video/mp4' } }],
  ['a PDF in the place of an image', { type: 'image', source: pdf }],
  ['a film in an image’s address', { type: 'image', source: { type: 'url', url: `data:video/mp4;base64,${DATA}` } }],
  [
    'a film in an image’s address, whatever stands beside it',
    {
      type: 'image',
      source: { type: 'url', url: `data:video/mp4;base64,${DATA}`, media_type: 'image/png', data: 'A' },
    },
  ],
])('R43 %s may fill what a model takes in', (_what, block) => {
  expect(contentOf(block)).toMatchObject({ linked: 1, images: 0, image_bytes: 0 })
})

test.each([
  ['a text', { type: 'document', source: { type: 'text', media_type: 'text/plain', data: DATA } }],
  [
    'the text of a PDF',
    { type: 'document', title: 'a.pdf', source: { type: 'text', media_type: 'text/plain', data: DATA } },
  ],
  ['blocks of text', { type: 'document', source: { type: 'content', content: [{ type: 'text', text: DATA }] } }],
])('R43 %s counts by its bytes', (_what, block) => {
  expect(contentOf(block)).toMatchObject({ linked: 0, images: 0, image_bytes: 0 })
})

test.each([
  ['inside', { type: 'base64', media_type: 'image/png', data: DATA }, 1_000],
  ['by its address', { type: 'url', url: 'https://example.com/a.png' }, 0],
  ['by its id', { type: 'file', file_id: 'file_1' }, 0],
])('R43 an image that is %s is one image', (_where, source, image_bytes) => {
  expect(contentOf({ type: 'image', source })).toMatchObject({ images: 1, image_bytes, linked: 0 })
})
