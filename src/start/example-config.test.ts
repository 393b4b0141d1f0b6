// The examples of switchyard.yaml that users copy: every one of them is good.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseConfig } from './config-file.ts'

const parse = (text: string, env = {}) => parseConfig(text, 'switchyard.yaml', env)

const PLATFORM_VARIABLES = {
  AZURE_OPENAI_API_KEY: 'az-1',
  AWS_ACCESS_KEY_ID: 'AKIA1',
  AWS_SECRET_ACCESS_KEY: 's',
  GEMINI_API_KEY: 'AIza',
  GOOGLE_SERVICE_ACCOUNT: JSON.stringify({
    client_email: 'a@b.iam.gserviceaccount.com',
    private_key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
    project_id: 'acme-prod',
  }),
}

test('0300 the example of platforms in the documents is good', () => {
  const text = readFileSync(new URL('../../docs/OPERATIONS.md', import.meta.url), 'utf8')
  const [, yaml = ''] = /## Azure, Bedrock and Vertex[^`]*?(?:`[^`\n]+`[^`]*?)*```yaml\n(.*?)```/s.exec(text) ?? []
  const { providers } = parse(yaml, PLATFORM_VARIABLES)
  expect(providers.map(({ id }) => id)).toEqual(['azure', 'bedrock', 'vertex', 'gemini'])
  expect(providers.flatMap(({ models }) => models).every(({ price }) => price !== undefined)).toBe(true)
})

test('§2 the example is good', () => {
  const text = readFileSync(new URL('../../switchyard.example.yaml', import.meta.url), 'utf8')
  const env = { OPENAI_API_KEY: 'sk-1', ANTHROPIC_API_KEY: 'sk-2', ...PLATFORM_VARIABLES }
  expect(parse(text, env).providers).toMatchObject([{ id: 'openai', api_key: 'sk-1' }])
  const uncommented = text.replace(/^#(?= {2})/gm, '').replace(/^# (?=aliases:|fees:|retention:|networks:)/gm, '')
  expect(parse(uncommented, env)).toMatchObject({ allow_cidrs: ['10.0.0.0/8'] })
  expect(parse(uncommented, env).providers.map(({ id }) => id)).toEqual([
    ...['openai', 'anthropic', 'azure', 'bedrock', 'vertex', 'local'],
  ])
})
