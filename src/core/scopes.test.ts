// R3: scopes are linear.
import { expect, test } from 'vitest'
import { allows } from './scopes.ts'

test.each([
  [['read'], { read: true, inference: false, admin: false }],
  [['inference'], { read: true, inference: true, admin: false }],
  [['admin'], { read: true, inference: true, admin: true }],
  [['read', 'inference'], { read: true, inference: true, admin: false }],
  [[], { read: false, inference: false, admin: false }],
] as const)('R3 a key with %j may do %j', (granted, expected) => {
  expect({
    read: allows(granted, 'read'),
    inference: allows(granted, 'inference'),
    admin: allows(granted, 'admin'),
  }).toEqual(expected)
})
