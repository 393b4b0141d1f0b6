// §4.1 rule 1, §5.6: people and projects, as rules and on whichever engine this run is for.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { rfc3339 } from '../core/clock.ts'
import { emailAddress, newPerson, newProject, projectNameFor } from './account.ts'
import { accountStore } from './account-store.ts'

test.each([
  ['ada@example.com', 'ada'],
  ['ada+work@example.com', 'ada'],
  ['+@example.com', 'My project'],
  ['default@example.com', 'My project'],
])('0162 a project of %s without a name is called %s', (email, name) => {
  expect(projectNameFor(email)).toBe(name)
})

test.each([
  ['ada@example.com', 'ada@example.com'],
  ['  Ada@Example.COM ', 'ada@example.com'],
  ["o'brien+tag@mail.example.co.uk", "o'brien+tag@mail.example.co.uk"],
])('§5.6 %j is the address %s', (text, email) => {
  expect(emailAddress(text)).toBe(email)
})

test.each([
  '',
  'ada',
  'ada@',
  '@example.com',
  'ada@example',
  'ada@@example.com',
  'ada@example..com',
  'ada lovelace@example.com',
  'ada@example.com, eve@example.com',
  '<ada@example.com>',
  `${'a'.repeat(250)}@example.com`,
])('§5.6 %j is no address', (text) => {
  expect(() => emailAddress(text)).toThrow("'email' must be an e-mail address.")
})

test('§5.6 a person is verified from the start or not at all; a project has a name', () => {
  expect(newPerson('ada@example.com', true, NOON).verified_at).toBe(rfc3339(NOON))
  const owner = newPerson('ada@example.com', false, NOON)
  expect(owner.verified_at).toBeNull()
  expect(newProject(' home ', owner, NOON)).toMatchObject({ name: 'home', owner_id: owner.id, object: 'project' })
  expect(() => newProject(' ', owner, NOON)).toThrow("'name' must not be empty.")
})

withDb((db) => {
  const accounts = () => accountStore(db())

  test('§5.6 one person per address; once verified, always verified', async () => {
    expect(await accounts().hasProjects()).toBe(false)
    const first = await accounts().upsertPerson(newPerson('ada@example.com', false, NOON))
    const again = await accounts().upsertPerson(newPerson('Ada@Example.com', true, NOON + 1))
    const third = await accounts().upsertPerson(newPerson('ada@example.com', false, NOON + 2))
    expect([again.id, third.id]).toEqual([first.id, first.id])
    expect([first.verified_at, again.verified_at, third.verified_at]).toEqual([
      null,
      rfc3339(NOON + 1),
      rfc3339(NOON + 1),
    ])
    await accounts().insertProject(newProject('home', first, NOON), NOON)
    expect(await accounts().hasProjects()).toBe(true)
  })
})
