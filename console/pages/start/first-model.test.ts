// Whose key is pasted, and which model is asked first.
import { expect, test } from 'vitest'
import { aliasFor, firstModel, providerOfKey } from './first-model.ts'

test.each([
  ['sk-ant-api03-xyz', 'anthropic'],
  [' sk-proj-xyz', 'openai'],
  ['sk-xyz', 'openai'],
  ['AIzaSyXyz', 'gemini'],
  ['gsk_xyz', 'groq'],
  ['0123456789abcdef', undefined],
])('§console %s is a key of %s', (key, provider) => {
  expect(providerOfKey(key)).toBe(provider)
})

const model = (id: string, owned_by: string) => ({ id, owned_by, object: 'model' as const, created: 0 })

test('§console the first request asks for a small model of the provider that was connected', () => {
  const models = [model('claude-opus', 'anthropic'), model('claude-haiku', 'anthropic'), model('gpt-4o-mini', 'openai')]
  expect(firstModel(models, 'anthropic')).toBe('claude-haiku')
  expect(firstModel(models, 'openai')).toBe('gpt-4o-mini')
  expect(firstModel(models, undefined)).toBe('gpt-4o-mini')
  expect(firstModel([model('atlas', 'own')], 'own')).toBe('atlas')
  expect(firstModel([], undefined)).toBe('gpt-4o-mini')
})

test('§console a model’s name becomes a name that an alias may have', () => {
  expect(aliasFor('Qwen/Qwen3 32B:latest')).toBe('qwen/qwen3-32b-latest')
})
