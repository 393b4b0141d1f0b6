// 0300: a provider of switchyard.yaml that is a platform: which fields name it, and where its credentials come from.
import { Check, Default } from 'typebox/value'
import { expect, test } from 'vitest'
import { ProviderShape, providerSettings } from './provider-config.ts'

const priced = { id: 'm', input_usd_per_million: 0.15, output_usd_per_million: 0.6, max_output_tokens: 16_384 }
const models = [priced]
const read = (entry: object, env = {}) => {
  const wrong: string[] = []
  const shape = Default(ProviderShape, structuredClone({ id: 'p', models, ...entry }))
  if (!Check(ProviderShape, shape)) throw new Error('not of the shape')
  return {
    settings: providerSettings(shape, (field, message) => void wrong.push(`${field}: ${message}`), { env }),
    wrong,
  }
}
const keys = { access_key_id: 'AKIA1', secret_access_key: 's3cret' }
const account = JSON.stringify({
  client_email: 'a@p.iam.gserviceaccount.com',
  private_key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
  project_id: 'acme-prod',
})

test.each([
  ['azure', { base_url: 'https://a.openai.azure.com/openai/v1/' }, 'https://a.openai.azure.com', { kind: 'azure' }],
  [
    'azure',
    { base_url: 'https://a.openai.azure.com', api_version: '2024-10-21' },
    'https://a.openai.azure.com',
    { kind: 'azure', api_version: '2024-10-21' },
  ],
  [
    'bedrock',
    { region: 'eu-west-3', ...keys },
    'https://bedrock-runtime.eu-west-3.amazonaws.com',
    { kind: 'bedrock', region: 'eu-west-3' },
  ],
  [
    'bedrock',
    { region: 'cn-north-1', ...keys },
    'https://bedrock-runtime.cn-north-1.amazonaws.com.cn',
    { kind: 'bedrock', region: 'cn-north-1' },
  ],
  [
    'vertex',
    { region: 'us-east5', service_account: account },
    'https://us-east5-aiplatform.googleapis.com',
    { kind: 'vertex', region: 'us-east5', google_project: 'acme-prod' },
  ],
  [
    'vertex',
    { google_project: 'other-project' },
    'https://aiplatform.googleapis.com',
    { kind: 'vertex', region: 'global', google_project: 'other-project' },
  ],
  [
    'vertex',
    { region: 'eu', google_project: 'other-project' },
    'https://aiplatform.eu.rep.googleapis.com',
    { kind: 'vertex', region: 'eu', google_project: 'other-project' },
  ],
])('%s with %o is at %s', (protocol, entry, base_url, platform) => {
  const { settings, wrong } = read({ protocol, ...entry })
  expect([wrong, settings.base_url, settings.platform]).toEqual([[], base_url, platform])
})

test('keys of AWS come from the environment where the file has none', () => {
  const env = { AWS_ACCESS_KEY_ID: 'AKIA2', AWS_SECRET_ACCESS_KEY: 'e', AWS_SESSION_TOKEN: 't' }
  const { settings } = read({ protocol: 'bedrock', region: 'us-east-1' }, env)
  expect(JSON.parse(settings.api_key)).toEqual({
    aws: { access_key_id: 'AKIA2', secret_access_key: 'e', session_token: 't' },
  })
  const bearer = { AWS_BEARER_TOKEN_BEDROCK: 'ABSK' }
  expect(read({ protocol: 'bedrock', region: 'us-east-1' }, bearer).settings.api_key).toBe('ABSK')
})

const bedrock = { protocol: 'bedrock', region: 'eu-west-3' }
const web = { AWS_ROLE_ARN: 'arn:aws:iam::1:role/r', AWS_WEB_IDENTITY_TOKEN_FILE: '/var/run/token' }
const full = (url: string) => ({ AWS_CONTAINER_CREDENTIALS_FULL_URI: url })
const pod = full('http://169.254.170.23/v1/credentials')
const azure = { protocol: 'azure', base_url: 'https://a.openai.azure.com' }
const app = { AZURE_TENANT_ID: 't-1', AZURE_CLIENT_ID: 'c-1' }

test.each([
  [
    { ...bedrock },
    { ...web, ...pod },
    {
      kind: 'web_identity',
      ...{ role_arn: web.AWS_ROLE_ARN, token_file: '/var/run/token', session_name: 'switchyard' },
      sts_url: 'https://sts.eu-west-3.amazonaws.com',
    },
  ],
  [
    { ...bedrock },
    { ...pod, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/t', AWS_CONTAINER_AUTHORIZATION_TOKEN: 'x' },
    { kind: 'container', url: 'http://169.254.170.23/v1/credentials', token_file: '/t' },
  ],
  [
    { ...bedrock },
    { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/abc' },
    { kind: 'container', url: 'http://169.254.170.2/v2/credentials/abc' },
  ],
  [{ ...bedrock, aws_identity: 'instance' }, { ...web }, { kind: 'instance', url: 'http://169.254.169.254' }],
  [
    { ...azure },
    { ...app, AZURE_CLIENT_SECRET: 's', AZURE_FEDERATED_TOKEN_FILE: '/f' },
    {
      ...{ kind: 'entra', tenant_id: 't-1', client_id: 'c-1', client_secret: 's' },
      authority: 'https://login.microsoftonline.com',
      scope: 'https://cognitiveservices.azure.com/.default',
    },
  ],
  [
    { ...azure, base_url: 'https://a.openai.azure.us', client_id: 'c-2' },
    { ...app, AZURE_FEDERATED_TOKEN_FILE: '/f', AZURE_AUTHORITY_HOST: 'https://login.microsoftonline.us/' },
    {
      ...{ kind: 'entra', tenant_id: 't-1', client_id: 'c-2', token_file: '/f' },
      authority: 'https://login.microsoftonline.us',
      scope: 'https://cognitiveservices.azure.us/.default',
    },
  ],
])('0349 %o with %o is who its platform says it is', (entry, env, identity) => {
  const { settings, wrong } = read(entry, env)
  expect([wrong, JSON.parse(settings.api_key)]).toEqual([[], { identity }])
})

test('0349 keys of the environment go before an identity, and a key in the file before both', () => {
  const env = { ...web, AWS_ACCESS_KEY_ID: 'AKIA2', AWS_SECRET_ACCESS_KEY: 'e' }
  expect(read(bedrock, env).settings.api_key).toContain('AKIA2')
  expect(read({ ...bedrock, api_key: 'ABSK' }, env).settings.api_key).toBe('ABSK')
  expect(read({ ...azure, api_key: 'az' }, { ...app, AZURE_CLIENT_SECRET: 's' }).settings.api_key).toBe('az')
  expect(read(azure).settings.api_key).toBe('')
})

test.each([
  [{ ...bedrock }, full('http://10.0.0.1/credentials'), /AWS_CONTAINER_CREDENTIALS_FULL_URI must be/],
  [{ ...bedrock }, full('http://169.254.170.2.evil.example/'), /AWS_CONTAINER_CREDENTIALS_FULL_URI must be/],
  [{ ...bedrock }, full('file:///etc/passwd'), /AWS_CONTAINER_CREDENTIALS_FULL_URI must be/],
  [{ ...bedrock, aws_identity: 'web_identity' }, {}, /^\/aws_identity: AWS_ROLE_ARN and/],
  [{ ...bedrock, aws_identity: 'instance', api_key: 'k' }, {}, /^\/api_key: .*two ways in/],
  [{ ...bedrock }, {}, /aws_identity: instance takes that of the machine/],
  [{ ...azure, client_id: 'c' }, {}, /^\/client_id: .*must all be given/],
  [{ ...azure, client_id: 'c', api_key: 'k' }, { ...app }, /^\/api_key: .*two ways in/],
  [{ ...azure, tenant_id: '../x', client_id: 'c', client_secret: 's' }, {}, /^\/tenant_id/],
  [{ ...bedrock, client_id: 'c', ...keys }, {}, /^\/client_id: .*means nothing to .*bedrock/],
  [{ ...azure, aws_identity: 'instance' }, {}, /^\/aws_identity: .*means nothing to .*azure/],
])('0349 %o with %o is told', (entry, env, message) => {
  expect(read(entry, env).wrong.join('; ')).toMatch(message)
})

test.each([
  [{ protocol: 'azure' }, /^\/base_url: base_url is required/],
  [{ protocol: 'openai' }, /'base_url' is required/],
  [{ protocol: 'azure', base_url: 'https://a.example', api_version: '2024-06-01' }, /2024-09-01-preview or later/],
  [{ protocol: 'azure', base_url: 'https://a.example', api_version: 'newest' }, /^\/api_version: .*be like/],
  [{ protocol: 'bedrock', ...keys }, /^\/region: region must be a region of AWS/],
  [{ protocol: 'bedrock', region: 'us-east-1' }, /keys of AWS/],
  [{ protocol: 'bedrock', region: 'us-east-1', access_key_id: 'a' }, /must both be given/],
  [{ protocol: 'bedrock', region: 'us-east-1', api_key: 'k', ...keys }, /^\/api_key: .*two ways in/],
  [
    {
      protocol: 'bedrock',
      region: 'us-east-1',
      base_url: 'https://bedrock-runtime.eu-west-1.amazonaws.com',
      ...keys,
    },
    /^\/region: .*'eu-west-1'/,
  ],
  [{ protocol: 'bedrock', region: 'us-east-1', list_models: true, ...keys }, /^\/list_models/],
  [{ base_url: 'https://a.example', models: [{ ...priced, speaks: 'converse' }] }, /^\/models\/0\/speaks/],
  [{ protocol: 'vertex', region: 'us-east-1', google_project: 'a-project' }, /^\/region: .*Google Cloud/],
  [{ protocol: 'vertex', region: 'us-east5' }, /^\/google_project/],
  [{ protocol: 'vertex', service_account: '{}', google_project: 'a-project' }, /^\/service_account: .*JSON/],
  [{ protocol: 'vertex', api_key: 'k', google_project: 'a-project' }, /^\/api_key: .*means nothing to .*vertex/],
  [{ base_url: 'https://a.example', api_version: '2024-10-21' }, /^\/api_version: .*means nothing to .*openai/],
])('%o is told', (entry, message) => {
  expect(read(entry).wrong.join('; ')).toMatch(message)
})

test('models: what Vertex calls those of OpenAI’s protocol, and Azure’s Responses API by its version', () => {
  const listed = [
    { ...priced, id: 'gemini-2.5-pro' },
    { ...priced, id: 'claude-x' },
    { ...priced, id: 'meta/llama' },
  ]
  const { settings } = read({ protocol: 'vertex', google_project: 'a-project', models: listed })
  expect(settings.models.map(({ upstream_id }) => upstream_id)).toEqual([
    'google/gemini-2.5-pro',
    'claude-x',
    'meta/llama',
  ])
  const azure = (api_version?: string) =>
    read({ protocol: 'azure', base_url: 'https://a.example', ...(api_version && { api_version }) }).settings.responses
  expect([azure(), azure('2024-10-21'), azure('2025-03-01-preview')]).toEqual([true, false, true])
})
