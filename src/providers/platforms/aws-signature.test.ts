// 0302: signatures against AWS's published suite for SigV4: its keys, its date, its service.
import { expect, test } from 'vitest'
import { heldClock } from '../../../test/support/clock.ts'
import { signing } from './aws-signature.ts'

const keys = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const scope = { region: 'us-east-1', service: 'service', clock: heldClock(Date.UTC(2015, 7, 30, 12, 36)) }
const sign = signing(keys, scope)
const NOTHING = Buffer.alloc(0)
const FORM = 'application/x-www-form-urlencoded'

test.each([
  ['get-vanilla', 'GET', '/', {}, '', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    {},
    '',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  ['post-vanilla', 'POST', '/', {}, '', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'post-header-key-sort',
    'POST',
    '/',
    { 'my-header1': 'value1' },
    '',
    'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  ],
  [
    'post-x-www-form-urlencoded',
    'POST',
    '/',
    { 'content-type': FORM },
    'Param1=value1',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
] as const)('0302 AWS’s suite: %s', async (_name, method, path, headers, body, signature) => {
  const url = `https://example.amazonaws.com${path}`
  const signed = await sign({ method, url, headers, body: body === '' ? NOTHING : Buffer.from(body) })
  const names = ['content-type', 'host', 'my-header1', 'x-amz-date'].filter(
    (one) => one === 'host' || one === 'x-amz-date' || one in headers,
  )
  expect(signed).toEqual({
    authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${names.join(';')}, Signature=${signature}`,
    'x-amz-date': '20150830T123600Z',
  })
})

test('0302 a session token goes along, and is signed', async () => {
  const lent = signing({ ...keys, session_token: 'lent' }, scope)
  const signed = await lent({ method: 'GET', url: 'https://example.amazonaws.com/', headers: {}, body: NOTHING })
  expect(signed['x-amz-security-token']).toBe('lent')
  expect(signed.authorization).toContain('SignedHeaders=host;x-amz-date;x-amz-security-token')
})
