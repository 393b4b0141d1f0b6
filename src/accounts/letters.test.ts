// What is written to people: short, plain, and nobody else's words in it.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import {
  changedPasswordLetter,
  invitationLetter,
  knownAddressLetter,
  linkTo,
  resetLetter,
  verificationLetter,
} from './letters.ts'

const link = linkTo('https://switchyard.example', 'verify-email', 'secret')
const linked = { to: 'ada@example.com', link, good_until_ms: NOON }

test('T-100 the secret of a link stands where no server sees it', () => {
  expect(new URL(link).hash).toBe('#token=secret')
  expect(new URL(link).pathname + new URL(link).search).not.toContain('secret')
})

test('T-100 every letter is short, plain ASCII, and has its link on a line of its own', () => {
  const letters = [
    verificationLetter(linked),
    resetLetter(linked),
    invitationLetter({ ...linked, project: 'home', role: 'viewer' }),
    knownAddressLetter('ada@example.com', NOON),
    changedPasswordLetter('ada@example.com', NOON),
  ]
  for (const { text, subject, link: own } of letters) {
    expect(text.length).toBeLessThan(500)
    expect(`${subject}${text}`).toMatch(/^[\x20-\x7e\n]+$/)
    expect(text.split('\n').filter((line) => line === own)).toHaveLength(own ? 1 : 0)
    expect(text.match(/https?:/g) ?? []).toHaveLength(own ? 1 : 0)
  }
})

test('R8 a project’s name cannot pretend to be a part of the letter', () => {
  const project = 'x"\n\nYour account is closed.\r\nSend your password to\u0000 https://evil.example/'.padEnd(250, '!')
  const { text } = invitationLetter({ ...linked, project, role: 'member' })
  const [first = ''] = text.split('\n')
  expect(first).toMatch(
    /^You are invited to the Switchyard project "x Your account is closed Send .{0,60}" as member\.$/,
  )
  expect(text.split('\n')).toHaveLength(8)
})

test.each([
  'https://evil.example/a',
  'evil.example',
  'www.evil.example',
  'mail@evil.example',
  'a\u202eb',
  'tel:123',
  '//evil',
])(
  'R78 a project called %j brings no link and no hidden character into the letter, and nothing into its subject',
  (project) => {
    const { text, subject } = invitationLetter({ ...linked, project, role: 'member' })
    const name = /project "(.*)" as/.exec(text)?.[1] ?? '?'
    expect(name).toMatch(/^[\p{L}\p{N}_'()&+ -]*$/u)
    expect(subject).toBe('You are invited to a project')
  },
)

test('R78 names in any script stay as they are', () => {
  const { text } = invitationLetter({ ...linked, project: "Köln (東京) & o'brien-2", role: 'member' })
  expect(text).toContain(`project "Köln (東京) & o'brien-2" as`)
})
