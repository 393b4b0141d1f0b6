// HTTPS_PROXY and NO_PROXY: who is dialled directly.
import { expect, test } from 'vitest'
import { parseNoProxy, proxyFor } from './outbound-proxy.ts'

const PROXY = new URL('http://proxy.example:3128')

test.each([
  ['https://api.openai.com/v1', '', true],
  ['http://api.openai.com/v1', '', false],
  ['https://api.openai.com/v1', '*', false],
  ['https://api.openai.com/v1', 'api.openai.com', false],
  ['https://api.openai.com/v1', 'openai.com', false],
  ['https://api.openai.com/v1', '.openai.com', false],
  ['https://api.openai.com/v1', '*.openai.com', false],
  ['https://api.openai.com/v1', 'OpenAI.com', false],
  ['https://notopenai.com/v1', 'openai.com', true],
  ['https://api.openai.com/v1', 'a.example, api.openai.com:443 b.example', false],
  ['https://api.openai.com/v1', 'api.openai.com:8443', true],
  ['https://10.1.2.3/v1', '10.0.0.0/8', false],
  ['https://11.1.2.3/v1', '10.0.0.0/8', true],
  ['https://10.1.2.3/v1', '10.1.2.3', false],
  ['https://[fd00::5]/v1', 'fd00::/8', false],
  ['https://[fd00::5]/v1', 'fd00::5', false],
  ['https://[fd00::5]:8443/v1', '[fd00::5]:443', true],
  ['https://localhost:8443/v1', '', false],
  ['https://127.0.0.1/v1', '', false],
  ['https://[::1]/v1', '', false],
])('§operations %s with NO_PROXY %j goes through the proxy: %j', (upstream, no_proxy, through) => {
  const proxy = proxyFor(new URL(upstream), { url: PROXY, except: parseNoProxy(no_proxy) })
  expect(proxy).toBe(through ? PROXY : undefined)
})

test('§operations without a proxy everybody is dialled directly', () => {
  expect(proxyFor(new URL('https://api.openai.com'), undefined)).toBeUndefined()
})
