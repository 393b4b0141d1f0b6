// 0343: what is typed of a provider becomes an entry as in the file, and back.
import { expect, test } from 'vitest'
import { changesIn, draftOf, enteredProvider, NO_PROVIDER, typedModels } from './provider-draft.ts'

const PRICED = { id: 'mine', input_usd_per_million: 0.5, output_usd_per_million: 1.5, max_output_tokens: 8192 }

test('0343 a model a line: by its name, with prices, or as in the file', () => {
  const file = { id: 'deep', upstream_id: 'd', max_output_tokens: 9 }
  const text = `gpt-4o-mini\n\n mine 0.5 1.5 8192 \n${JSON.stringify(file)}`
  expect(typedModels(text)).toEqual([{ id: 'gpt-4o-mini' }, PRICED, file])
  expect(draftOf({ models: typedModels(text) as never }).models).toBe(text.replace('\n\n ', '\n').replace(' \n', '\n'))
  for (const line of ['mine 1', 'mine a b c', 'mine 1 2 3 4', '{"id":'])
    expect(() => typedModels(line)).toThrow("'models'")
})

test('0343 a change has only what was typed otherwise; what was emptied is null', () => {
  const before = draftOf({ id: 'x', base_url: 'https://a', region: 'eu', models: [PRICED] as never })
  expect(changesIn(before, before, '')).toEqual({})
  expect(changesIn(before, { ...before, region: '', base_url: 'https://b' }, 'sk-1')).toEqual({
    base_url: 'https://b',
    region: null,
    api_key: 'sk-1',
  })
})

test('0343 a secret that is JSON is what its protocol takes', () => {
  const draft = { ...NO_PROVIDER, id: 'x' }
  const aws = '{"AccessKeyId":"AKIA","SecretAccessKey":"s"}'
  expect(enteredProvider({ ...draft, protocol: 'bedrock' }, aws)).toMatchObject({ access_key_id: 'AKIA' })
  expect(enteredProvider({ ...draft, protocol: 'vertex' }, '{"a":1}')).toMatchObject({ service_account: '{"a":1}' })
  expect(enteredProvider(draft, ' sk-1 ')).toEqual({ id: 'x', protocol: 'openai', api_key: 'sk-1' })
})
