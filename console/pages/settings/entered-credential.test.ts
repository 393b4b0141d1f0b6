// What was typed into the form of a credential.
import { expect, test } from 'vitest'
import { enteredCredential } from './entered-credential.ts'

const typed = { provider: 'bedrock', name: 'ours', base_url: '', region: ' us-east-1 ', api_version: '', models: '' }
const keys = { access_key_id: 'AKIA', secret_access_key: 's' }

test.each([
  ['a key', 'sk-1', { secret: 'sk-1' }],
  ['keys of AWS', JSON.stringify(keys), { aws: keys }],
  ['a service account', '{"client_email":"a@b"}', { service_account: { client_email: 'a@b' } }],
  ['what only begins like JSON', '{no', { secret: '{no' }],
])('0300 %s', (_case, secret, expected) => {
  expect(enteredCredential(typed, secret)).toEqual({
    provider: 'bedrock',
    name: 'ours',
    region: 'us-east-1',
    ...expected,
  })
})

test('0300 models by their two names, or by one', () => {
  const { models } = enteredCredential({ ...typed, models: ' a = x.y:0 , b,, c=d=e' }, 'sk-1')
  expect(models).toEqual({ a: 'x.y:0', b: 'b', c: 'd=e' })
})
