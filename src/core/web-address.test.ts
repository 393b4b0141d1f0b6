// R12: the form of an address, under the name of the field that carried it.
import { expect, test } from 'vitest'
import { webAddress } from './web-address.ts'

test.each([
  ['file:///etc/passwd', 'be an absolute http or https address'],
  ['http://user@host/', 'not carry credentials'],
  ['https://host/#', 'not have a fragment'],
  ['http://host:0/', 'not use port 0'],
])('T-80 %s as base_url must %s', (address, must) => {
  expect(() => webAddress('base_url', address)).toThrow(`'base_url' must ${must}.`)
})

test('R12 an address is kept as it was written', () => {
  expect(webAddress('base_url', 'HTTPS://Api.Example.com:443/v1')).toBe('HTTPS://Api.Example.com:443/v1')
})
